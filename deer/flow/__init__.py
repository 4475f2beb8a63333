"""The state of a run and every decision about it, without effects: no clock, no id, no random source of its own."""

from deer.flow.picture import picture
from deer.flow.plans import plan_from_draft, ready_steps
from deer.flow.state import EndState, RunState, StepProgress

__all__ = ["EndState", "RunState", "StepProgress", "picture", "plan_from_draft", "ready_steps"]
