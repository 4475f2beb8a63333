"""A run as people and programs see it. The field names are a public contract."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from deer.models.budget import Kind, Spent
from deer.models.evidence import CheckedClaim
from deer.models.plan import StepStatus, StepType
from deer.models.roles import Role
from deer.models.texts import Model

RESEARCH_PHASE = "ResearchPhase"
"""Name of the search attribute (a keyword) that holds a run's phase."""


class Phase(StrEnum):
    """Where a run is. The same words stand in code, status, search attribute and UI."""

    COORDINATING = "coordinating"
    CLARIFYING = "clarifying"
    LOOKING_AROUND = "looking_around"
    PLANNING = "planning"
    AWAITING_REVIEW = "awaiting_review"
    RESEARCHING = "researching"
    REPORTING = "reporting"
    CHECKING = "checking"
    PAUSED = "paused"
    NEEDS_ATTENTION = "needs_attention"
    COMPLETED = "completed"
    COMPLETED_WITH_GAPS = "completed_with_gaps"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def is_end(self) -> bool:
        """Whether a run in this phase is over."""
        return self in _ENDS

    @property
    def waits_for_a_person(self) -> bool:
        """Whether a run in this phase goes on only when somebody answers."""
        return self in _WAITS


_ENDS = frozenset({Phase.COMPLETED, Phase.COMPLETED_WITH_GAPS, Phase.ANSWERED, Phase.CANCELLED, Phase.FAILED})
_WAITS = frozenset({Phase.AWAITING_REVIEW, Phase.CLARIFYING, Phase.PAUSED, Phase.NEEDS_ATTENTION})


class Counts(Model):
    """What was spent. Tokens and USD as the endpoint and the settings say; the rest counts calls."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    model_calls: int = 0
    searches: int = 0
    pages: int = 0
    code_cells: int = 0


class Usage(Counts):
    """What calls spent, and on whom. Of `model_calls`, those without a price have no part in `cost_usd`.

    `models`: names of the models that answered, as their endpoints give them, each once.
    `unpriced_calls`: calls of models for which no price is set.
    `estimated_calls`: calls whose tokens the endpoint did not count.
    """

    models: tuple[str, ...] = ()
    unpriced_calls: int = 0
    estimated_calls: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        numbers = type(self).model_fields.keys() - {"models"}
        sums = {name: getattr(self, name) + getattr(other, name) for name in numbers}
        return Usage(models=tuple(dict.fromkeys((*self.models, *other.models))), **sums)


class RunUsage(Counts):
    """What a run spent, and of it each role; the background search is nobody's."""

    roles: dict[Role, Usage] = Field(default_factory=dict)


class HandOff(Model):
    """One transition: who handed over to whom, and why in plain words.

    Written and read as `{at, from, to, reason}`; `from` is a keyword in Python, hence the alias.
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    at: datetime
    sender: Annotated[str, Field(alias="from")]
    to: str
    reason: str


class StepStatusView(Model):
    """A step with how far it has come; `finding` is text or None."""

    id: str
    title: str
    description: str
    step_type: StepType
    need_search: bool
    depends_on: tuple[str, ...]
    status: StepStatus
    finding: str | None
    reason: str | None


class PlanStatus(Model):
    """The plan of a run with the state of its steps."""

    revision: int
    title: str
    thought: str
    has_enough_context: bool
    steps: tuple[StepStatusView, ...]


class SourceStatus(Model):
    """A source; `number` is its place in the report, None when it is not cited."""

    id: str
    number: int | None
    url: str
    title: str
    read: bool
    cited: bool


class ReportStatus(Model):
    """The finished report. `path` is where the reader saved it, None elsewhere."""

    markdown: str
    path: str | None
    claims: tuple[CheckedClaim, ...]


class RunStatus(Model):
    """The object of `status`, `show --json` and the last line of `research --json` and `follow --json`."""

    id: str
    phase: Phase
    reason: str | None
    question: str
    locale: str | None
    round: int
    max_rounds: int
    plan: PlanStatus | None
    sources: tuple[SourceStatus, ...]
    handoffs: tuple[HandOff, ...]
    usage: RunUsage
    budget: dict[Kind, Spent] = Field(default_factory=dict)
    """Limit and use of every kind that is limited."""
    notices: tuple[str, ...]
    report: ReportStatus | None
    answer: str | None


class ProgressEntry(Model):
    """One line of live progress. `step_id` is None for what concerns the whole run."""

    at: datetime
    text: str
    step_id: str | None = None


class ProgressPage(Model):
    """Answer of `progress(since)`: what happened after the cursor `since`, and the cursor to ask with next.

    A cursor is opaque; the empty one asks from the beginning. Only the last 500 entries are kept.
    """

    cursor: str
    phase: Phase
    reason: str | None
    entries: tuple[ProgressEntry, ...]
    running_steps: tuple[str, ...] = ()
    """Workflow ids of the steps at work, each of which answers `progress` too."""


class RunOutcome(Model):
    """Result of the workflow `Research`, small enough for Temporal's UI; `report` may be a preview."""

    id: str
    phase: Phase
    reason: str | None
    answer: str | None
    report: str | None
