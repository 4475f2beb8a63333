"""Plans in the shapes and under the names that models give them, brought into the one that is validated."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from deer.models import StepType
from deer.parsing.almost_json import value_of

MAX_WRAPPINGS = 3
"""Objects around a plan that are taken off, such as `{"arguments": {"plan": {…}}}`."""

MAX_FIELDS_AROUND = 12
"""An object with more fields than these is not looked into for a plan."""

MAX_LOOKED_AT = 30
"""Steps that tell whether something looks like a plan."""

_Json = Any  # what a model or a person wrote
_Check = Callable[[_Json], bool]

_TRUTHS = ("true", "false", "yes", "no")


class Likeness(Enum):
    """How much an object looks like a plan."""

    NONE = "none"
    PLACE_FOR_STEPS = "place for steps"
    STEPS = "steps with titles"


def _plain(name: object) -> str:
    """A name without case and separators: `Need-Search`, `needSearch` and `need_search` are one."""
    return str(name).replace("_", "").replace("-", "").replace(" ", "").casefold()


def _is_text(value: _Json) -> bool:
    return isinstance(value, str)


def _is_scalar(value: _Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_truth(value: _Json) -> bool:
    return isinstance(value, bool) or (
        isinstance(value, str) and value.strip().lower() in ("true", "false", "yes", "no")
    )


def _is_several(value: _Json) -> bool:
    return isinstance(value, list | dict) or (isinstance(value, str) and value.strip()[:1] in ("[", "{"))


@dataclass(frozen=True)
class _Field:
    """A field with its other names, and what must stand under one of those for the field to be meant."""

    name: str
    is_meant_by: _Check
    others: tuple[str, ...]


def _fields(fields: Mapping[str, tuple[_Check, str]]) -> tuple[_Field, ...]:
    return tuple(_Field(name, check, tuple(map(_plain, others.split()))) for name, (check, others) in fields.items())


_PLAN_FIELDS = _fields(
    {
        "locale": (_is_text, ""),
        "title": (_is_text, "name plan_title report_title"),
        "thought": (_is_text, "thoughts reasoning rationale"),
        "has_enough_context": (_is_truth, "enough_context"),
        "steps": (_is_several, "tasks plan plan_steps research_steps research_plan subtasks todos"),
    }
)
_STEP_FIELDS = _fields(
    {
        "id": (_is_scalar, ""),
        "title": (_is_text, "name step_title task heading step"),
        "description": (_is_text, "details detail instructions content objective goal desc"),
        "step_type": (_is_text, "type kind category role agent assigned_to assignee"),
        "need_search": (
            _is_truth,
            "needs_search need_web_search needs_web_search requires_search requires_web_search search_needed "
            "search_required use_search web_search search",
        ),
        "label": (_is_scalar, "step_id step_number number index position step"),
        "depends_on": (lambda value: True, "dependencies dependency deps prerequisites requires"),
    }
)

_TYPES = {
    StepType.RESEARCH: "researcher search web_search searching retrieval",
    StepType.ANALYSIS: "analyst analyze analyse analyzing reasoning comparison synthesis",
    StepType.PROCESSING: "process coder code coding calculation computation",
}


_STEP_TYPES = {_plain(word): step_type for step_type, words in _TYPES.items() for word in (step_type, *words.split())}


def plan_shape(data: Mapping[Any, _Json]) -> dict[str, _Json]:
    """A plan under its own names, without what was wrapped around it, and with `steps` as a list of objects.

    Nothing is checked: what cannot be brought into shape stays as it is, for the validation to name. What a step stood
    under, or gives as its number, is its `label`, by which others may depend on it.
    """
    plan = _unwrapped(data, MAX_WRAPPINGS) or _renamed(data, _PLAN_FIELDS)
    if "steps" in plan:
        plan["steps"] = _steps_of(plan["steps"])
    return plan


def likeness_to_a_plan(data: Mapping[Any, _Json]) -> Likeness:
    """How much an object looks like a plan."""
    plan = _unwrapped(data, MAX_WRAPPINGS)
    if plan is None:
        return Likeness.NONE
    steps = _listed(plan["steps"])
    has_titles = isinstance(steps, list) and any("title" in _step(step) for step in steps[:MAX_LOOKED_AT])
    return Likeness.STEPS if has_titles else Likeness.PLACE_FOR_STEPS


def step_type_of(word: str) -> StepType | None:
    """The type of step that a word stands for: its name in any case, the role that does it, or what it does."""
    return _STEP_TYPES.get(_plain(word))


def _unwrapped(data: Mapping[Any, _Json], wrappings: int) -> dict[str, _Json] | None:
    """The only plan within an object, under its own names; None when there is none or there are several."""
    plan = _renamed(data, _PLAN_FIELDS)
    if "steps" in plan:
        inner = _renamed(_mapping(plan["steps"]), _PLAN_FIELDS)
        return {**plan, **inner} if "steps" in inner else plan
    if wrappings == 0:
        return None
    if len(data) > MAX_FIELDS_AROUND:
        return None
    plans = (_unwrapped(inside, wrappings - 1) for value in data.values() if (inside := _mapping(value)))
    found = [inside for inside in plans if inside is not None]
    around = {name: value for name, value in plan.items() if name in data}  # `name` could be that of a tool
    return {**around, **found[0]} if len(found) == 1 else None


def _renamed(data: Mapping[Any, _Json], fields: tuple[_Field, ...]) -> dict[str, _Json]:
    """The fields that are there, by their own names. What stands under its own name counts, if it is not null."""
    given: dict[str, _Json] = {}
    for name, value in data.items():
        if value is not None:
            given.setdefault(_plain(name), value)
    renamed = {}
    for field in fields:
        value = given.get(_plain(field.name))
        if value is None:
            meant = (given[other] for other in field.others if other in given)
            value = next((value for value in meant if field.is_meant_by(value)), None)
        if value is not None:
            renamed[field.name] = value
    return renamed


def _steps_of(value: _Json) -> _Json:
    steps = _listed(value)
    return [_step(step) or step for step in steps] if isinstance(steps, list) else steps


def _listed(value: _Json) -> _Json:
    """Steps as a list: those that stand under names of their own get them as labels, a single one stands alone."""
    value = _decoded(value)
    if not isinstance(value, Mapping):
        return value
    if isinstance(_step(value).get("title"), str):
        return [value]
    return [{"label": str(label), **step} if isinstance(step, Mapping) else step for label, step in value.items()]


def _step(value: _Json) -> dict[str, _Json]:
    """A step under its own names; empty when it is no object or has none of the fields."""
    return _renamed(value, _STEP_FIELDS) if isinstance(value, Mapping) else {}


def _mapping(value: _Json) -> Mapping[Any, _Json]:
    """A value that is an object, or text that holds one; else an empty one."""
    value = _decoded(value)
    return value if isinstance(value, Mapping) else {}


def _decoded(value: _Json) -> _Json:
    """A value that was encoded as text once more than the rest; other text stays as it is."""
    if not isinstance(value, str) or value.strip()[:1] not in ("{", "["):
        return value
    decoded = value_of(value.strip())
    return value if decoded is None else decoded
