"""What the steps of a draft depend on: positions, ids and labels resolved, and what cannot be carried out refused."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from deer.errors import InvalidInput
from deer.models import ChangeKind, DraftStep, PlanChange, PlanRules, StepType
from deer.parsing.excess import KeptSteps, title_of
from deer.parsing.fields import sameness_of, shown, text_of

MAX_DEPENDENCIES = 100
MAX_ID_CHARS = 100

_NOTHING = frozenset({"", "none", "null", "n/a", "-", "[]"})
_POSITION = re.compile(r"(?:step|task|第|步骤|任务)?[\s_#-]*(\d{1,4})\s*步?", re.IGNORECASE)

Dependencies = tuple[int | str, ...]


def dependencies_of(value: Any, field: str) -> Dependencies | None:  # Any: what a model or a person wrote
    """The dependencies of a step as they were written; None when it has no such field.

    Raises InvalidInput naming the field.
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = [item.strip() for item in re.split(r"[,，、;；]", value.strip("[] "))]
    elif isinstance(value, int):
        value = [value]
    if not isinstance(value, Sequence):
        raise InvalidInput("must be a list of steps", field)
    if len(value) > MAX_DEPENDENCIES:
        raise InvalidInput(f"{len(value)} steps given, at most {MAX_DEPENDENCIES} allowed", field)
    items = [_dependency_of(item, field) for item in value if item is not None]
    return tuple(item for item in items if not isinstance(item, str) or item.lower() not in _NOTHING)


def _dependency_of(item: Any, field: str) -> int | str:
    if isinstance(item, float) and item.is_integer():
        return int(item)
    if not isinstance(item, int | str) or isinstance(item, bool):
        raise InvalidInput(f"{shown(item)} is neither a position nor a step's id", field)
    return item.strip() if isinstance(item, str) else item


def id_of(raw: Mapping[str, Any], field: str, rules: PlanRules) -> str | None:
    """Which step of the plan that the writer was shown a step is; None for a new one.

    A number that is nobody's id says where the step stands, under whatever name; so do all ids where no plan was shown.
    Raises InvalidInput naming the field.
    """
    label = raw.get("label")
    if isinstance(label, str) and label.strip() in rules.known_ids:
        return label.strip()
    value = raw.get("id")
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidInput("must be a step's id such as s2, or left out for a new step", field)
    named = text_of(str(value), field, MAX_ID_CHARS)
    is_position = named not in rules.known_ids and _POSITION.fullmatch(named)
    return None if is_position or not rules.known_ids else named or None


class StepNames:
    """What the steps of a draft may be called in dependencies, those included that were left out of it."""

    def __init__(self, written: Sequence[Any], kept: KeptSteps, rules: PlanRules) -> None:
        self._count = len(written)
        self._kept = kept
        self._labels: dict[str, int] = {}
        self._titles: dict[str, int] = {}
        self._rules = rules
        for position, raw in enumerate(written, start=1):
            if isinstance(raw, Mapping):
                for label in (raw.get("id"), raw.get("label")):
                    if isinstance(label, str | int) and label != "":
                        self._labels.setdefault(str(label), position)
                if title := title_of(raw):
                    self._titles.setdefault(sameness_of(title), position)

    def resolved(self, wanted: Dependencies | None) -> Dependencies | None:
        """Dependencies as positions and as ids that the writer was shown; others stay, for the check to name.

        Those on steps that were cut off are left out.
        """
        if wanted is None:
            return None
        standing = (self._standing(self._meant(item)) for item in wanted)
        return tuple(item for item in standing if item is not None)

    def _meant(self, item: int | str) -> int | str:
        """The position at which the step was written, or its id."""
        if item in self._rules.known_ids or (isinstance(item, int) and self._rules.known_ids):
            return item
        position = self._labels.get(str(item))  # ids in a first plan are the writer's own labels
        if position is not None or isinstance(item, int):
            return item if position is None else position
        if (position := self._titles.get(sameness_of(item))) is not None:
            return position
        number = _POSITION.fullmatch(item)
        return int(number[1]) if number else item

    def _standing(self, item: int | str) -> int | str | None:
        """The same step as the draft has it; None when it was cut."""
        position = item if isinstance(item, int) else self._labels.get(item, 0)
        if item in self._rules.finished_ids or not 1 <= position <= self._count:
            return item
        is_there_by_id = isinstance(item, str) and position in self._kept.positions
        return item if is_there_by_id else self._kept.place_of(position)


def without_circles(
    steps: Sequence[DraftStep], rules: PlanRules
) -> tuple[tuple[DraftStep, ...], tuple[PlanChange, ...]]:
    """The steps, none of which waits for what does not exist or for itself, and what is to be told of them.

    A circle is refused; with `rules.excess_is_cut` its first step goes without those that wait for it instead.
    Raises InvalidInput naming the field.
    """
    positions = {step.id: at for at, step in enumerate(steps) if step.id is not None}
    needs = [_needs(at, steps, positions, rules) for at in range(len(steps))]
    settled: list[DraftStep] = []
    changes: list[PlanChange] = []
    for at, step in enumerate(steps):
        waiting = {need for need in needs[at] if _leads_to(at, need, needs)}
        if waiting and not rules.excess_is_cut:
            said = "a step cannot wait for itself" if at in waiting else "the steps wait for each other in a circle"
            raise InvalidInput(said, f"steps.{at}.depends_on")
        if waiting:
            needs[at] -= waiting
            kept = tuple(item for item in step.depends_on or () if _place_of(item, positions) not in waiting)
            step = step.model_copy(update={"depends_on": kept})
            changes.append(PlanChange(kind=ChangeKind.CIRCLE_OPENED, values={"title": step.title}))
        settled.append(step)
    return tuple(settled), tuple(changes)


def _needs(at: int, steps: Sequence[DraftStep], positions: Mapping[str, int], rules: PlanRules) -> set[int]:
    """Places of the steps that a step waits for, from 0."""
    step = steps[at]
    if step.depends_on is None:
        return set() if step.step_type is StepType.RESEARCH else set(range(at))
    needs = set()
    for wanted in step.depends_on:
        place = _place_of(wanted, positions)
        if place is None and wanted in rules.finished_ids:
            continue  # a finished step stays in the plan even when a draft leaves it out
        if place is None or not 0 <= place < len(steps):
            raise InvalidInput(f"no step {shown(wanted)} in the plan", f"steps.{at}.depends_on")
        needs.add(place)
    return needs


def _place_of(wanted: int | str, positions: Mapping[str, int]) -> int | None:
    return wanted - 1 if isinstance(wanted, int) else positions.get(wanted)


def _leads_to(goal: int, start: int, needs: Sequence[set[int]]) -> bool:
    """Whether a step is the other one, or waits for it by way of others."""
    seen: set[int] = set()
    ahead = {start}
    while ahead and goal not in ahead:
        seen |= ahead
        ahead = set().union(*(needs[at] for at in ahead)) - seen
    return goal in ahead
