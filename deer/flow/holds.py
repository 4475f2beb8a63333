"""Waiting for a person, and what a person can tell a run to do."""

from datetime import datetime

from deer.errors import Refused
from deer.flow.state import RunState
from deer.messages import Control, ControlAction, StepReport
from deer.models import Phase, StepStatus


def hold(state: RunState, at: datetime, step_id: str, reason: str) -> None:
    """Wait for a person in `needs_attention`: `reason` says what only a person can mend; the empty id is the run."""
    if not state.held:
        state.held_phase = state.phase
        state.phase = Phase.NEEDS_ATTENTION
    state.held[step_id] = reason
    state.reason = "; ".join(dict.fromkeys(state.held.values()))
    state.record(at, f"needs attention: {reason}", step_id or None)


def check_step_report(state: RunState, report: StepReport) -> None:
    """Whether a report comes from a step at work. Raises Refused; nothing changes."""
    progress = state.steps.get(report.step_id)
    if progress is None or progress.status is not StepStatus.RUNNING:
        raise Refused(f"no step {report.step_id!r} is at work")


def take_step_report(state: RunState, at: datetime, report: StepReport) -> None:
    """A step says that it is held, or goes on; what a later report has overtaken is void. Raises Refused."""
    check_step_report(state, report)
    if report.number < state.reports_seen.get(report.step_id, 0):
        return
    state.reports_seen[report.step_id] = report.number
    if report.held is None:
        state.release(report.step_id)
    else:
        hold(state, at, report.step_id, report.held)


def check_control(state: RunState, control: Control) -> None:
    """Whether a control fits the run now. Raises Refused with the reason; nothing changes."""
    if state.phase.is_end:
        raise Refused(f"the run has already finished ({state.phase})")
    if control.action is not ControlAction.RETRY or control.step_id is not None:
        raise Refused(f"{control.action} is not possible in this version; a run that needs attention takes retry")
    if not state.held:
        raise Refused(f"nothing is held that could be retried; the run is {state.phase}")


def take_control(state: RunState, at: datetime, control: Control) -> tuple[str, ...]:
    """Release all that is held; returns the held steps, which must be told. Raises as `check_control`."""
    check_control(state, control)
    held = tuple(state.held)
    state.record(at, "retry")
    for step_id in held:
        state.release(step_id)
    return tuple(step_id for step_id in held if step_id)
