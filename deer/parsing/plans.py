"""The one validation of plans, whoever wrote them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from deer.errors import InvalidInput
from deer.models import MAX_TITLE_CHARS, DraftStep, PlanDraft, PlanRules, StepType
from deer.parsing.dependencies import StepNames, dependencies_of, refuse_bad_dependencies
from deer.parsing.fields import line_of, sameness_of, shown, text_of, truth_of
from deer.parsing.plan_shapes import plan_shape, step_type_of

MAX_DESCRIPTION_CHARS = 4_000
MAX_ID_CHARS = 100
MAX_THOUGHT_CHARS = 4_000
"""A longer thought is cut: it is shown to people, nothing is done with it."""

_LOCALE = re.compile(r"[\w ()（）/,.-]{0,60}")
"""A tag such as zh_CN, or the name of a language: the run has its locale already, and only nonsense is refused."""


def parse_plan(data: Any, rules: PlanRules) -> PlanDraft:
    """Validate a plan from a model or a person, in the shape of `show`'s plan or in one that means the same.

    Rules: an object; a title; at least one step (none is allowed with `has_enough_context`) and at most
    `rules.max_steps`; each step with a title, none twice, a known type, bounded sizes; dependencies that exist and
    have no cycle; no locale that is none. A step without type is research if it searches, processing if it says that
    it does not, and research if it says neither; a type that nobody knows is refused, never guessed.
    Fields that code computes are ignored.
    Raises InvalidInput naming the field.
    """
    if not isinstance(data, Mapping):
        raise InvalidInput("a plan is an object with title and steps")
    plan = plan_shape(data)
    title = line_of(plan.get("title"), "title", MAX_TITLE_CHARS)
    enough = truth_of(plan.get("has_enough_context"), "has_enough_context")
    _refuse_locale(plan.get("locale"))
    raw_steps, notices = _within_limit(_raw_steps(plan.get("steps"), enough), rules)
    names = StepNames(plan.get("steps") or (), rules)
    steps = tuple(_parse_step(raw, f"steps.{at}", names, rules) for at, raw in enumerate(raw_steps))
    _refuse_duplicates(steps)
    _refuse_unknown_ids(steps, rules)
    refuse_bad_dependencies(steps, rules)
    thought = plan.get("thought")
    return PlanDraft(
        title=title,
        thought=text_of(thought[:MAX_THOUGHT_CHARS], "thought", MAX_THOUGHT_CHARS) if isinstance(thought, str) else "",
        has_enough_context=enough,
        steps=steps,
        notices=notices,
    )


def _raw_steps(value: Any, enough: bool) -> Sequence[Any]:
    if value is None and not enough:
        raise InvalidInput("is missing; it must be a list of steps", "steps")
    if not isinstance(value, list) and value is not None:
        raise InvalidInput("must be a list of steps", "steps")
    if not value and not enough:
        raise InvalidInput("a plan needs at least one step", "steps")
    return value or ()


def _within_limit(raw_steps: Sequence[Any], rules: PlanRules) -> tuple[Sequence[Any], tuple[str, ...]]:
    """The steps that may stay, and what to tell of those that may not. Raises InvalidInput when they are too few."""
    count = len(raw_steps)
    if 0 < count < rules.min_steps and not rules.excess_is_cut:
        topics = f"the question has {rules.min_steps} topics, each of which needs a step of its own"
        raise InvalidInput(f"{count} steps given; {topics}", "steps")
    if count <= rules.max_steps:
        return raw_steps, ()
    if not rules.excess_is_cut:
        raise InvalidInput(f"{count} steps given, at most {rules.max_steps} allowed", "steps")
    return raw_steps[: rules.max_steps], (f"{count} → {rules.max_steps}",)


def _parse_step(raw: Any, field: str, names: StepNames, rules: PlanRules) -> DraftStep:
    if not isinstance(raw, Mapping):
        raise InvalidInput("a step is an object with title, description and step_type", field)
    title = line_of(raw.get("title"), f"{field}.title", MAX_TITLE_CHARS)
    description = text_of(raw.get("description"), f"{field}.description", MAX_DESCRIPTION_CHARS) or title
    need_search = truth_of(raw.get("need_search"), f"{field}.need_search")
    step_id = _step_id(raw.get("id"), f"{field}.id")
    depends_on = dependencies_of(raw.get("depends_on"), f"{field}.depends_on")
    return DraftStep(
        id=step_id if rules.known_ids else None,  # where no plan was shown, ids are the writer's own labels
        title=title,
        description=description,
        step_type=_step_type(raw, need_search, f"{field}.step_type"),
        need_search=need_search,
        depends_on=names.resolved(depends_on),
    )


def _step_id(value: Any, field: str) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidInput("must be a step's id such as s2, or left out for a new step", field)
    return text_of(str(value), field, MAX_ID_CHARS) or None


def _step_type(raw: Mapping[str, Any], need_search: bool, field: str) -> StepType:
    value = raw.get("step_type")
    if value is None or value == "":
        may_search = need_search or raw.get("need_search") is None
        return StepType.RESEARCH if may_search else StepType.PROCESSING
    step_type = step_type_of(value) if isinstance(value, str) else None
    if step_type is None:
        raise InvalidInput(f"{shown(value)} is not one of {', '.join(StepType)}", field)
    return step_type


def _refuse_locale(value: Any) -> None:
    if value is not None and not (isinstance(value, str) and _LOCALE.fullmatch(value.strip())):
        raise InvalidInput(f"{shown(value)} is no language tag such as en-US", "locale")


def _refuse_duplicates(steps: Sequence[DraftStep]) -> None:
    titles: set[str] = set()
    ids: set[str] = set()
    for at, step in enumerate(steps):
        if (key := sameness_of(step.title)) in titles:
            raise InvalidInput(f"{shown(step.title)} stands there twice", f"steps.{at}.title")
        titles.add(key)
        if step.id is not None:
            if step.id in ids:
                raise InvalidInput(f"{shown(step.id)} stands there twice", f"steps.{at}.id")
            ids.add(step.id)


def _refuse_unknown_ids(steps: Sequence[DraftStep], rules: PlanRules) -> None:
    for at, step in enumerate(steps):
        if step.id is not None and step.id not in rules.known_ids:
            raise InvalidInput(f"no step {shown(step.id)} in the plan; leave id out for a new step", f"steps.{at}.id")
