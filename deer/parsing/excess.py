"""What a plan may not keep when asking again is over: steps above the limit, and repetitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deer.errors import InvalidInput
from deer.models import ChangeKind, PlanChange, PlanRules
from deer.parsing.fields import sameness_of


@dataclass(frozen=True)
class KeptSteps:
    """Which of the steps that were written stay. Positions count from 1.

    `positions`: where the steps that stay were written, in order. `repeats`: position of a repetition that was dropped
    to that of the step that it repeats.
    """

    positions: tuple[int, ...]
    repeats: Mapping[int, int]
    changes: tuple[PlanChange, ...]

    def place_of(self, position: int) -> int | None:
        """Where the step that was written there stands now, or the one that it repeats; None when it was cut."""
        position = self.repeats.get(position, position)
        return self.positions.index(position) + 1 if position in self.positions else None


def kept_steps(written: Sequence[Any], rules: PlanRules) -> KeptSteps:
    """All steps; with `rules.excess_is_cut` no more than are allowed, and of those with one title the first.

    Raises InvalidInput when there are too many and asking again is not over.
    """
    repeats = _repetitions(written) if rules.excess_is_cut else {}
    changes = [PlanChange(kind=ChangeKind.STEP_REPEATED, values={"title": title_of(written[at - 1])}) for at in repeats]
    positions = [at for at in range(1, len(written) + 1) if at not in repeats]
    if len(positions) > rules.max_steps:
        if not rules.excess_is_cut:
            raise InvalidInput(f"{len(written)} steps given, at most {rules.max_steps} allowed", "steps")
        values: dict[str, str | int] = {"count": len(positions), "allowed": rules.max_steps}
        changes.append(PlanChange(kind=ChangeKind.STEPS_CUT, values=values))
    return KeptSteps(tuple(positions[: rules.max_steps]), repeats, tuple(changes))


def title_of(raw: Any) -> str:  # Any: what was written may be anything
    """The title of a step as far as it can be compared; empty for none."""
    title = raw.get("title") if isinstance(raw, Mapping) else None
    return " ".join(title.split()) if isinstance(title, str) else ""


def _repetitions(written: Sequence[Any]) -> Mapping[int, int]:
    first: dict[str, int] = {}
    repeats: dict[int, int] = {}
    for position, raw in enumerate(written, start=1):
        title = sameness_of(title_of(raw))
        if title and first.setdefault(title, position) != position:
            repeats[position] = first[title]
    return repeats
