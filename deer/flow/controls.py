"""What a person can tell a run to do at any time, and what that means for the run and its steps."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from deer.errors import InvalidInput, Refused
from deer.flow.budget import change_budget, changed_budget, in_words, lacking_for_research, why_spent
from deer.flow.plans import ENDED
from deer.flow.state import PAUSE_REASON, RunState, StepProgress
from deer.flow.team import leave_out
from deer.messages import Command, Control, ControlAction
from deer.models import Lease, Model, Phase, PlanDraft, Step, StepStatus
from deer.parsing import parse_plan
from deer.wording import word

_RESEARCH = (Phase.PLANNING, Phase.AWAITING_REVIEW, Phase.RESEARCHING)
"""Where steps may still be begun."""

_SHOWN_CHARS = 80
"""Of an id that there is not."""


class Orders(Model):
    """What came of a control: `done` in plain words, and what the steps at work are to be told.

    `tell`: a command or a new lease by step id. `cancel`: ids of steps whose workflows are to be cancelled.
    """

    done: str
    tell: Mapping[str, Command | Lease] = {}
    cancel: tuple[str, ...] = ()


def check_control(state: RunState, control: Control) -> None:
    """Whether a control fits the run now. Raises Refused or InvalidInput with the reason; nothing changes."""
    if state.phase.is_end:
        raise Refused(f"the run has already finished ({state.phase})")
    if control.action in _OF_A_STEP and not control.step_id:
        raise InvalidInput(f"{control.action} needs the id of a step, such as s2", "step_id")
    if control.step_id is not None and control.step_id not in state.steps:
        known = ", ".join(state.steps) or "none yet"
        raise Refused(f"there is no step {control.step_id[:_SHOWN_CHARS]!r}; the steps are: {known}")
    _CHECKS[control.action](state, control)


def take_control(state: RunState, at: datetime, control: Control) -> Orders:
    """Do what was asked, as far as the state goes; the orders are for whoever runs the steps. Raises as the check."""
    check_control(state, control)
    return _DEEDS[control.action](state, at, control)


# Pausing and holds


def _check_pause(state: RunState, control: Control) -> None:
    if state.paused:
        raise Refused("the run is paused already")


def _pause(state: RunState, at: datetime, control: Control) -> Orders:
    state.pause(at)
    state.record(at, PAUSE_REASON)
    done = "the run is paused; calls in flight end, new ones wait"
    return Orders(done=done, tell=dict.fromkeys(_at_work(state), Command.PAUSE))


def _check_resume(state: RunState, control: Control) -> None:
    if not state.paused:
        raise Refused(f"the run is not paused; it is {state.phase}")


def _resume(state: RunState, at: datetime, control: Control) -> Orders:
    state.resume(at)
    state.record(at, "resumed")
    held = "; what needs attention still waits for retry" if state.held else ""
    return Orders(done=f"the run goes on{held}", tell=dict.fromkeys(_at_work(state), Command.RESUME))


def _check_retry(state: RunState, control: Control) -> None:
    if control.step_id is None:
        if not state.held:
            raise Refused(f"nothing is held that could be retried; the run is {state.phase}")
        return
    if control.step_id in state.held:
        return
    status = state.steps[control.step_id].status
    if status not in (StepStatus.FAILED, StepStatus.SKIPPED):
        raise Refused(f"step {control.step_id} has not failed; it is {status}")
    _refuse_unless_researching(state, "tried again")
    if (kind := lacking_for_research(state)) is not None and not _at_work(state):
        raise Refused(f"{why_spent(state, kind)}; raise it first")


def _retry(state: RunState, at: datetime, control: Control) -> Orders:
    step_id = control.step_id
    state.record(at, "retry", step_id)
    if step_id is None or step_id in state.held:
        held = tuple(state.held) if step_id is None else (step_id,)
        for each in held:
            state.release(each)
        return Orders(done="what was held goes on", tell={each: Command.RETRY for each in held if each})
    state.steps[step_id] = StepProgress(attempt=state.steps[step_id].attempt)
    state.hand_off(at, "person", step_id, "a new try")
    return Orders(done=f"step {step_id} is tried again")


# Steps


def _check_skip(state: RunState, control: Control) -> None:
    progress = state.steps[_step_of(control)]
    if progress.status in ENDED:
        raise Refused(f"step {control.step_id} has already ended ({progress.status})")
    if progress.skip_asked:
        raise Refused(f"step {control.step_id} is being skipped already")


def _skip(state: RunState, at: datetime, control: Control) -> Orders:
    step_id = _step_of(control)
    progress = state.steps[step_id]
    progress.skip_asked = True
    if progress.status is StepStatus.RUNNING:
        state.record(at, word("skipped_on_request", state.locale), step_id)
        return Orders(done=f"step {step_id} is being ended", cancel=(step_id,))
    progress.status, progress.reason = StepStatus.SKIPPED, word("skipped_on_request", state.locale)
    state.hand_off(at, "person", step_id, progress.reason)
    return Orders(done=f"step {step_id} is skipped")


def _check_change(state: RunState, control: Control) -> None:
    _changed_plan(state, control)


def _change(state: RunState, at: datetime, control: Control) -> Orders:
    """Add or edit a step: a revision like any other, which whoever asked for it has approved with it."""
    review, before = state.review, set(state.steps)
    plan = state.propose(at, _changed_plan(state, control), "person")
    state.review = review
    if control.action is ControlAction.EDIT_STEP:
        return Orders(done=f"step {control.step_id} is changed; the plan is now revision {plan.revision}")
    added = next(step.id for step in plan.steps if step.id not in before)
    return Orders(done=f"step {added} is added; the plan is now revision {plan.revision}")


def _changed_plan(state: RunState, control: Control) -> PlanDraft:
    """The plan with a step added or changed, by the rules for every plan. Raises Refused and InvalidInput."""
    if state.plan is None or state.station is Phase.PLANNING:
        raise Refused("the plan is being written; change it when it waits for review")
    _refuse_unless_researching(state, "changed")
    if not control.step:
        raise InvalidInput("say what the step is: {title, description, step_type, need_search, depends_on}", "step")
    waiting = [step for step in state.plan.steps if state.steps[step.id].status is StepStatus.PENDING]
    given = dict(control.step)
    if control.action is ControlAction.ADD_STEP:
        if "id" in given:
            raise InvalidInput("a new step gets its id from the run; leave it out", "step.id")
        steps = [*(_as_written(step) for step in waiting), given]
    else:
        status = state.steps[_step_of(control)].status
        if status is not StepStatus.PENDING:
            raise Refused(f"step {control.step_id} cannot be changed any more; it is {status}")
        steps = [
            _as_written(step) | (given | {"id": step.id} if step.id == control.step_id else {}) for step in waiting
        ]
    _refuse_title_of_begun_step(state, given)
    return parse_plan({"title": state.plan.title, "thought": state.plan.thought, "steps": steps}, state.rules)


def _as_written(step: Step) -> dict[str, Any]:  # the shape of a plan that a person writes
    return step.model_dump(mode="json")


def _refuse_title_of_begun_step(state: RunState, given: Mapping[str, Any]) -> None:  # as above
    assert state.plan is not None
    for step in state.plan.steps:
        if state.steps[step.id].status is not StepStatus.PENDING and step.title == given.get("title"):
            raise InvalidInput(f"step {step.id} has this title already", "step.title")


# The end of research


def is_past_calls(state: RunState) -> bool:
    """Whether the run is to finish and has not come to its report: no model is asked then."""
    return state.finishing and state.station in _RESEARCH


def _check_finish(state: RunState, control: Control) -> None:
    if state.finishing and "" not in state.held:
        raise Refused("the run is finishing already")
    if state.plan is None:
        raise Refused("there is no plan yet, and so nothing to report; cancel ends the run")
    can_give_up = "" in state.held and state.station is not Phase.CHECKING
    if state.station not in _RESEARCH and not can_give_up:
        held = "; mend what is held and retry" if "" in state.held else ""
        raise Refused(f"the run is {state.station} already{held}")


def _finish(state: RunState, at: datetime, control: Control) -> Orders:
    """Report now: nothing new begins, and a call of the run itself that is held is given up."""
    state.finish_requests += 1
    state.resume(at)
    state.close_review()
    state.hand_off(at, "person", "reporter", "asked for the report now")
    if state.station is not Phase.PLANNING:
        leave_out(state, at, word("finished_early", state.locale))
    done = "no new calls are made; the report is written on what is known"
    return Orders(done=done, tell=dict.fromkeys(_at_work(state), Command.WIND_DOWN))


def _check_budget(state: RunState, control: Control) -> None:
    changed_budget(state, control.budget)


def _budget(state: RunState, at: datetime, control: Control) -> Orders:
    budget = changed_budget(state, control.budget)
    done = f"the budget is now {in_words(budget)}"
    state.record(at, done)
    return Orders(done=done, tell=change_budget(state, at, budget))


def _refuse_unless_researching(state: RunState, what: str) -> None:
    if state.finishing or state.station not in _RESEARCH:
        raise Refused(f"no step can be {what} now; the run is {'finishing' if state.finishing else state.station}")


def _at_work(state: RunState) -> tuple[str, ...]:
    return tuple(step_id for step_id, progress in state.steps.items() if progress.status is StepStatus.RUNNING)


def _step_of(control: Control) -> str:
    assert control.step_id is not None  # checked for every action of a step
    return control.step_id


_OF_A_STEP = frozenset({ControlAction.SKIP, ControlAction.EDIT_STEP})
_CHECKS: Mapping[ControlAction, Callable[[RunState, Control], None]] = {
    ControlAction.PAUSE: _check_pause,
    ControlAction.RESUME: _check_resume,
    ControlAction.RETRY: _check_retry,
    ControlAction.SKIP: _check_skip,
    ControlAction.ADD_STEP: _check_change,
    ControlAction.EDIT_STEP: _check_change,
    ControlAction.FINISH: _check_finish,
    ControlAction.BUDGET: _check_budget,
}
_DEEDS: Mapping[ControlAction, Callable[[RunState, datetime, Control], Orders]] = {
    ControlAction.PAUSE: _pause,
    ControlAction.RESUME: _resume,
    ControlAction.RETRY: _retry,
    ControlAction.SKIP: _skip,
    ControlAction.ADD_STEP: _change,
    ControlAction.EDIT_STEP: _change,
    ControlAction.FINISH: _finish,
    ControlAction.BUDGET: _budget,
}
