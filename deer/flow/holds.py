"""Waiting for a person to mend what only a person can."""

from datetime import datetime

from deer.errors import Refused
from deer.flow.state import RunState
from deer.messages import StepReport
from deer.models import StepStatus


def hold(state: RunState, at: datetime, step_id: str, reason: str) -> None:
    """Wait for a person in `needs_attention`: `reason` says what only a person can mend; the empty id is the run."""
    state.held[step_id] = reason
    state.surface()
    state.record(at, f"needs attention: {reason}", step_id or None)


def check_step_report(state: RunState, report: StepReport) -> None:
    """Whether a report comes from a step at work. Raises Refused; nothing changes."""
    progress = state.steps.get(report.step_id)
    if progress is None or progress.status is not StepStatus.RUNNING:
        raise Refused(f"no step {report.step_id!r} is at work")


def take_step_report(state: RunState, at: datetime, report: StepReport) -> None:
    """A step says what it spent, and that it is held or goes on; one that came late is void. Raises Refused."""
    check_step_report(state, report)
    if report.number < state.reports_seen.get(report.step_id, 0):
        return
    state.reports_seen[report.step_id] = report.number
    if report.usage is not None:
        state.ledger.ask(report.step_id, report.usage, report.wants)
    if report.held is None:
        state.release(report.step_id)
    elif state.held.get(report.step_id) != report.held:
        hold(state, at, report.step_id, report.held)
