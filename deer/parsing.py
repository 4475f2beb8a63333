"""Model text and human input into models, with errors that name what was wrong.

One validation serves the plans of models and of people: `parse_plan`.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field, ValidationError, field_validator

from deer.errors import InvalidInput
from deer.models import (
    LOCALE_PATTERN,
    MAX_TITLE_CHARS,
    Claim,
    DraftStep,
    Finding,
    PlanDraft,
    PlanRules,
    RawToolCall,
    StepType,
    ToolCall,
    ToolName,
)

MAX_DESCRIPTION_CHARS = 4_000
MAX_THOUGHT_CHARS = 4_000
"""A longer thought is cut: it is shown to people, nothing is done with it."""

MAX_OBJECTS_TRIED = 200
"""Places in a reply at which an object may begin; prose has few, and each costs a pass over the text."""

MAX_CLAIMS = 30
MAX_CLAIM_CHARS = 600
MAX_CLAIMS_BYTES = 32 * 1024
"""Of the claims of a finding: those of thirty steps travel together and stay well below the 2 MB of a payload."""

_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)```", re.DOTALL)
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_decoder = json.JSONDecoder()


def first_error(error: ValidationError) -> InvalidInput:
    """The first complaint of pydantic as an error that names the field."""
    complaint = error.errors(include_url=False, include_context=False)[0]
    message = complaint["msg"].removeprefix("Value error, ")
    return InvalidInput(message, ".".join(str(part) for part in complaint["loc"]))


def json_object(text: str) -> dict[str, Any]:
    """The JSON object in a model's text: alone, in a fence, or among prose.

    Raises InvalidInput when there is none, or when the text breaks off inside one.
    """
    text = _THINKING.sub("", text).strip().lstrip("\ufeff")
    for candidate in (text, *_FENCE.findall(text)):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return _storable(value)
    return _storable(_largest_object(text))


def _storable(value: dict[str, Any]) -> dict[str, Any]:
    """A JSON object without lone surrogates, which an escape can bring into it and no payload can carry."""
    cleaned: dict[str, Any] = _without_surrogates(value)
    return cleaned


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(name): _without_surrogates(item) for name, item in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


def _largest_object(text: str) -> dict[str, Any]:
    """The longest object that stands whole in a text; prose may hold small ones beside it."""
    best: dict[str, Any] | None = None
    best_size = position = tried = 0
    while (start := text.find("{", position)) >= 0 and tried < MAX_OBJECTS_TRIED:
        tried += 1
        try:
            value, end = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        if isinstance(value, dict) and end - start > best_size:
            best, best_size = value, end - start
        position = end
    if best is None:
        raise InvalidInput("the reply holds no JSON object" if text else "the reply is empty")
    return best


def parse_plan(data: Any, rules: PlanRules) -> PlanDraft:
    """Validate a plan from a model or a person, in the shape of `show`'s plan.

    Rules: an object; a title; at least one step (none is allowed with `has_enough_context`) and at most
    `rules.max_steps`; each step with a title, none twice, a known type, bounded sizes; dependencies that exist and
    have no cycle.
    Fields that code computes are ignored.
    Raises InvalidInput naming the field.
    """
    if not isinstance(data, Mapping):
        raise InvalidInput("a plan is an object with title and steps")
    title = _line(data.get("title"), "title", MAX_TITLE_CHARS)
    raw_steps = data.get("steps")
    if not isinstance(raw_steps, Sequence) or isinstance(raw_steps, str):
        raise InvalidInput("must be a list of steps", "steps")
    enough = _boolean(data.get("has_enough_context"), "has_enough_context")
    if not raw_steps and not enough:
        raise InvalidInput("a plan needs at least one step", "steps")
    notices: tuple[str, ...] = ()
    if len(raw_steps) > rules.max_steps:
        if not rules.excess_is_cut:
            raise InvalidInput(f"{len(raw_steps)} steps given, at most {rules.max_steps} allowed", "steps")
        notices = (f"{len(raw_steps)} → {rules.max_steps}",)
        raw_steps = [_without_dependencies_beyond(raw, rules.max_steps) for raw in raw_steps[: rules.max_steps]]
    steps = tuple(_parse_step(raw, f"steps.{at}") for at, raw in enumerate(raw_steps))
    if not rules.known_ids:
        steps = _without_labels(steps)
    _refuse_duplicates(steps)
    _refuse_bad_dependencies(steps, rules)
    thought = str(data.get("thought") or "").strip()[:MAX_THOUGHT_CHARS]
    return PlanDraft(
        title=title,
        thought=thought,
        has_enough_context=enough,
        steps=steps,
        notices=notices,
    )


def _without_dependencies_beyond(raw: Any, last: int) -> Any:
    """A step of a plan that was cut after the position `last`, without its dependencies on what was cut."""
    if not isinstance(raw, Mapping) or not isinstance(wanted := raw.get("depends_on"), Sequence):
        return raw
    return {**raw, "depends_on": [item for item in wanted if not (isinstance(item, int) and item > last)]}


def _parse_step(raw: Any, field: str) -> DraftStep:
    if not isinstance(raw, Mapping):
        raise InvalidInput("a step is an object with title, description and step_type", field)
    title = _line(raw.get("title"), f"{field}.title", MAX_TITLE_CHARS)
    description = _text(raw.get("description"), f"{field}.description", MAX_DESCRIPTION_CHARS) or title
    need_search = _boolean(raw.get("need_search"), f"{field}.need_search")
    step_id = raw.get("id")
    if step_id is not None and (isinstance(step_id, bool) or not isinstance(step_id, str | int)):
        raise InvalidInput("must be a step's id such as s2, or left out for a new step", f"{field}.id")
    return DraftStep(
        id=str(step_id) if step_id not in (None, "") else None,
        title=title,
        description=description,
        step_type=_step_type(raw.get("step_type"), need_search, f"{field}.step_type"),
        need_search=need_search,
        depends_on=_dependencies(raw.get("depends_on"), f"{field}.depends_on"),
    )


def _step_type(value: Any, need_search: bool, field: str) -> StepType:
    if value is None or value == "":
        return StepType.RESEARCH if need_search else StepType.PROCESSING
    try:
        return StepType(str(value).strip().lower())
    except ValueError:
        raise InvalidInput(f"{value!r} is not one of {', '.join(StepType)}", field) from None


def _dependencies(value: Any, field: str) -> tuple[int | str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InvalidInput("must be a list of steps", field)
    for item in value:
        if not isinstance(item, int | str) or isinstance(item, bool):
            raise InvalidInput(f"{item!r} is neither a position nor a step's id", field)
    return tuple(value)


def _without_labels(steps: Sequence[DraftStep]) -> tuple[DraftStep, ...]:
    """Steps of a first plan: ids in it are the writer's own labels, good only for its dependencies."""
    positions = {step.id: at for at, step in enumerate(steps, start=1) if step.id is not None}
    return tuple(
        step.model_copy(
            update={
                "id": None,
                "depends_on": None
                if step.depends_on is None
                else tuple(positions.get(item, item) if isinstance(item, str) else item for item in step.depends_on),
            }
        )
        for step in steps
    )


def _refuse_duplicates(steps: Sequence[DraftStep]) -> None:
    titles: set[str] = set()
    ids: set[str] = set()
    for at, step in enumerate(steps):
        if (key := step.title.casefold()) in titles:
            raise InvalidInput(f"{step.title!r} stands there twice", f"steps.{at}.title")
        titles.add(key)
        if step.id is not None:
            if step.id in ids:
                raise InvalidInput(f"{step.id!r} stands there twice", f"steps.{at}.id")
            ids.add(step.id)


def _refuse_bad_dependencies(steps: Sequence[DraftStep], rules: PlanRules) -> None:
    positions = {step.id: at for at, step in enumerate(steps) if step.id is not None}
    for at, step in enumerate(steps):
        if step.id is not None and step.id not in rules.known_ids:
            raise InvalidInput(f"no step {step.id!r} in the plan; leave id out for a new step", f"steps.{at}.id")
    graph: dict[int, set[int]] = {}
    for at, step in enumerate(steps):
        has_default = step.depends_on is None and step.step_type is not StepType.RESEARCH
        graph[at] = set(range(at)) if has_default else set()
        for wanted in step.depends_on or ():
            target = wanted - 1 if isinstance(wanted, int) else positions.get(wanted)
            if target is None and wanted in rules.finished_ids:
                continue  # a finished step stays in the plan even when a draft leaves it out
            if target is None or not 0 <= target < len(steps):
                raise InvalidInput(f"no step {wanted!r} in the plan", f"steps.{at}.depends_on")
            graph[at].add(target)
    _refuse_cycles(graph)


def _refuse_cycles(graph: Mapping[int, set[int]]) -> None:
    finished: set[int] = set()
    while open_steps := [at for at in graph if at not in finished]:
        ready = [at for at in open_steps if graph[at] <= finished]
        if not ready:
            raise InvalidInput("the steps wait for each other in a circle", f"steps.{open_steps[0]}.depends_on")
        finished.update(ready)


def _line(value: Any, field: str, limit: int) -> str:
    text = " ".join(_text(value, field, limit).split())
    if not text:
        raise InvalidInput("must not be empty", field)
    return text


def _text(value: Any, field: str, limit: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(f"must be text, not {type(value).__name__}", field)
    if len(value) > limit:
        raise InvalidInput(f"{len(value)} characters given, at most {limit} allowed", field)
    return value.strip()


def _boolean(value: Any, field: str) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    words = {"true": True, "yes": True, "false": False, "no": False, "": False}
    if isinstance(value, str) and value.strip().lower() in words:
        return words[value.strip().lower()]
    raise InvalidInput(f"{value!r} is neither true nor false", field)


def sane_locale(value: str) -> str | None:
    """A BCP 47 tag in its usual spelling (`zh_cn` becomes `zh-CN`), or None when it is none."""
    parts = value.strip().replace("_", "-").split("-")
    cased = [parts[0].lower()] + [part.title() if len(part) == 4 else part.upper() for part in parts[1:]]
    tag = "-".join(cased)
    return tag if re.fullmatch(LOCALE_PATTERN, tag) else None


class _SearchArguments(BaseModel):
    query: str = Field(min_length=1, max_length=2_000)
    max_results: int | None = Field(default=None, ge=1, le=20)
    topic: str = Field(default="general", pattern="^(general|news)$")
    search_depth: str = Field(default="advanced", pattern="^(basic|advanced)$")

    @field_validator("query")
    @classmethod
    def _has_words(cls, query: str) -> str:
        if not query.strip():
            raise ValueError("must not be empty")
        return query.strip()


class _PageArguments(BaseModel):
    url: str = Field(min_length=1, max_length=4_000)


class _ClaimArguments(BaseModel):
    text: str = Field(min_length=1, max_length=MAX_CLAIM_CHARS)
    source_id: str = Field(default="", max_length=100)
    quote: str = Field(default="", max_length=MAX_CLAIM_CHARS)


class _FindingArguments(BaseModel):
    summary: str = Field(min_length=1, max_length=200_000)
    claims: list[_ClaimArguments] = Field(default=[], max_length=MAX_CLAIMS)


def arguments_of(call: RawToolCall) -> dict[str, Any]:
    """The arguments of a tool call. Raises InvalidInput when they are not a JSON object; they are never guessed."""
    try:
        value = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        raise InvalidInput("the arguments are not valid JSON", call.name) from None
    if not isinstance(value, dict):
        raise InvalidInput("the arguments must be a JSON object", call.name)
    return _storable(value)


def parse_tool_call(call: RawToolCall, offered: Collection[str]) -> ToolCall:
    """A tool call that can be made, or one that carries the error to tell the model."""
    try:
        if call.name not in offered:
            raise InvalidInput(f"there is no tool {call.name!r}; the tools are {', '.join(sorted(offered))}")
        arguments = arguments_of(call)
        if call.name == ToolName.WEB_SEARCH:
            search = _SearchArguments.model_validate(arguments)
            return ToolCall(
                id=call.id,
                name=call.name,
                query=search.query,
                max_results=search.max_results,
                topic=search.topic,
                depth=search.search_depth,
            )
        if call.name == ToolName.READ_PAGE:
            return ToolCall(id=call.id, name=call.name, url=_PageArguments.model_validate(arguments).url.strip())
        raise InvalidInput(f"{call.name} ends the step: call it once and alone")
    except ValidationError as error:
        return ToolCall(id=call.id, name=call.name, error=str(first_error(error)))
    except InvalidInput as error:
        return ToolCall(id=call.id, name=call.name, error=str(error))


def parse_finding(call: RawToolCall) -> Finding:
    """The finding that `submit_finding` hands in. Raises InvalidInput naming the field."""
    try:
        given = _FindingArguments.model_validate(arguments_of(call))
    except ValidationError as error:
        raise first_error(error) from None
    claims = tuple(
        Claim(text=claim.text.strip(), source_id=claim.source_id.strip("[] "), quote=claim.quote)
        for claim in given.claims
    )
    if not given.summary.strip():
        raise InvalidInput("must not be empty", "summary")
    size = sum(len((claim.text + claim.quote).encode("utf-8", "replace")) for claim in claims)
    if size > MAX_CLAIMS_BYTES:
        raise InvalidInput(f"{size} bytes of text and quotes, at most {MAX_CLAIMS_BYTES} allowed", "claims")
    return Finding(summary=given.summary.strip(), claims=claims)
