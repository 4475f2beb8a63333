"""The state of a run and every decision about it, without effects: no clock, no id, no random source of its own."""

from deer.flow.picture import picture
from deer.flow.plans import plan_from_draft, ready_steps
from deer.flow.state import MAX_ENTRY_CHARS, ReviewState, RunState, StepProgress
from deer.flow.views import finding_briefs, outcome_of, progress_since, references_of, status_of

__all__ = [
    "MAX_ENTRY_CHARS",
    "ReviewState",
    "RunState",
    "StepProgress",
    "finding_briefs",
    "outcome_of",
    "picture",
    "plan_from_draft",
    "progress_since",
    "ready_steps",
    "references_of",
    "status_of",
]
