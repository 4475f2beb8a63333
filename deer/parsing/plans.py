"""The one validation of plans, whoever wrote them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from deer.errors import InvalidInput
from deer.models import MAX_TITLE_CHARS, ChangeKind, DraftStep, PlanChange, PlanDraft, PlanRules, StepType
from deer.parsing.dependencies import StepNames, dependencies_of, id_of, without_circles
from deer.parsing.excess import kept_steps
from deer.parsing.fields import line_of, sameness_of, shown, text_of, truth_of
from deer.parsing.plan_shapes import plan_shape, step_type_of
from deer.parsing.thoughts import without_thoughts

MAX_DESCRIPTION_CHARS = 4_000
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
    written = _raw_steps(plan.get("steps"), enough, rules)
    kept = kept_steps(written, rules)
    names = StepNames(written, kept, rules)
    parsed = [_parse_step(written[at - 1], f"steps.{at - 1}", names, rules) for at in kept.positions]
    steps = tuple(step for step, _ in parsed)
    _refuse_duplicates(steps)
    _refuse_unknown_ids(steps, rules)
    steps, opened = without_circles(steps, rules)
    thought = plan.get("thought")
    told = without_thoughts(thought)[:MAX_THOUGHT_CHARS] if isinstance(thought, str) else ""
    return PlanDraft(
        title=title,
        thought=text_of(told, "thought", MAX_THOUGHT_CHARS),
        has_enough_context=enough,
        steps=steps,
        changes=(*kept.changes, *(change for _, changes in parsed for change in changes), *opened),
    )


def _raw_steps(value: Any, enough: bool, rules: PlanRules) -> Sequence[Any]:
    if value is None and not enough:
        raise InvalidInput("is missing; it must be a list of steps", "steps")
    if not isinstance(value, list) and value is not None:
        raise InvalidInput("must be a list of steps", "steps")
    if not value and not enough:
        raise InvalidInput("a plan needs at least one step", "steps")
    if value and len(value) < rules.min_steps and not rules.excess_is_cut:
        topics = f"the question has {rules.min_steps} topics, each of which needs a step of its own"
        raise InvalidInput(f"{len(value)} steps given; {topics}", "steps")
    return value or ()


def _parse_step(raw: Any, field: str, names: StepNames, rules: PlanRules) -> tuple[DraftStep, tuple[PlanChange, ...]]:
    """A step, and what is to be told of it."""
    if not isinstance(raw, Mapping):
        raise InvalidInput("a step is an object with title, description and step_type", field)
    title = line_of(raw.get("title"), f"{field}.title", MAX_TITLE_CHARS)
    description = text_of(raw.get("description"), f"{field}.description", MAX_DESCRIPTION_CHARS) or title
    need_search = truth_of(raw.get("need_search"), f"{field}.need_search")
    wanted = dependencies_of(raw.get("depends_on"), f"{field}.depends_on")
    depends_on = names.resolved(wanted)
    waits_for_less = len(wanted or ()) > len(depends_on or ())
    changes = (PlanChange(kind=ChangeKind.WAIT_DROPPED, values={"title": title}),) if waits_for_less else ()
    step = DraftStep(
        id=id_of(raw, f"{field}.id", rules),
        title=title,
        description=description,
        step_type=_step_type(raw, need_search, f"{field}.step_type"),
        need_search=need_search,
        depends_on=depends_on,
    )
    return step, changes


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
