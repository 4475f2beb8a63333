"""The research team: which steps may start, what ended steps brought, and what is missing."""

from datetime import datetime

from deer.flow.budget import lacking_for, lacking_for_research, why_spent
from deer.flow.plans import ENDED, ready_steps
from deer.flow.progress import MAX_ENTRY_CHARS
from deer.flow.state import RunState, StepProgress
from deer.models import CheckedClaim, Phase, PlanDraft, ReplanAfter, Step, StepOutcome, StepStatus
from deer.wording import word


def begin_round(state: RunState, at: datetime) -> None:
    """The approved plan is carried out."""
    state.round += 1
    state.close_review()
    state.record(at, f"round {state.round} of at most {state.request.max_rounds}")


def has_rounds_left(state: RunState) -> bool:
    """Whether another plan may be carried out."""
    has_rounds = state.round < state.request.max_rounds and not state.finishing
    return has_rounds and lacking_for_research(state) is None


def stops_after_a_step(state: RunState) -> bool:
    """Whether the judge is asked after each step, since it may still change what follows."""
    return state.request.replan_after is ReplanAfter.STEP and has_rounds_left(state)


def ended_steps(state: RunState) -> frozenset[str]:
    """The steps that have come to their end, whatever it was."""
    return frozenset(step_id for step_id, progress in state.steps.items() if progress.status in ENDED)


def has_steps_to_do(state: RunState) -> bool:
    """Whether a step is at work or waits to be."""
    return any(progress.status not in ENDED for progress in state.steps.values())


def steps_to_start(state: RunState) -> tuple[Step, ...]:
    """The steps that may start now."""
    if state.plan is None or state.paused or state.finishing:
        return ()
    statuses = {step_id: progress.status for step_id, progress in state.steps.items()}
    ready = ready_steps(state.plan, statuses, len(statuses))
    payable = tuple(step for step in ready if lacking_for(state, step) is None)
    at_once = 1 if stops_after_a_step(state) else state.request.max_parallel_steps
    return payable[: max(0, at_once - _running(state))]


def _running(state: RunState) -> int:
    return sum(progress.status is StepStatus.RUNNING for progress in state.steps.values())


def start_ready_steps(state: RunState) -> tuple[Step, ...]:
    """Mark the steps that may start now as running, each with a lease, and return them."""
    ready = steps_to_start(state)
    at_work = _running(state) + len(ready)
    started = []
    for step in ready:
        if lacking_for(state, step) is not None:
            continue  # those before it were given the rest
        attempt = state.steps[step.id].attempt + 1
        state.steps[step.id] = StepProgress(status=StepStatus.RUNNING, attempt=attempt)
        state.reports_seen.pop(step.id, None)  # each attempt counts its reports from 1
        state.ledger.open(step.id, state.usage, at_work)
        started.append(step)
    return tuple(started)


def leave_out_unpayable(state: RunState, at: datetime) -> None:
    """Leave out the steps for which the budget has nothing left, once no step at work can return anything."""
    if state.plan is None or state.paused or state.finishing or _running(state):
        return
    while True:
        statuses = {step_id: progress.status for step_id, progress in state.steps.items()}
        ready = ready_steps(state.plan, statuses, len(statuses))
        lacking = {step.id: kind for step in ready if (kind := lacking_for(state, step)) is not None}
        if not lacking:
            return
        for step_id, kind in lacking.items():
            end_step(state, at, step_id, StepOutcome(status=StepStatus.SKIPPED, reason=why_spent(state, kind)))


def leave_out(state: RunState, at: datetime, reason: str) -> None:
    """No step that waits will be begun."""
    for step_id, progress in state.steps.items():
        if progress.status is StepStatus.PENDING:
            end_step(state, at, step_id, StepOutcome(status=StepStatus.SKIPPED, reason=reason))


def do_without_the_rest(state: RunState, at: datetime) -> None:
    """The findings are enough: steps that wait are not needed, which is no gap."""
    for progress in state.steps.values():
        progress.was_not_needed = progress.status is StepStatus.PENDING
    leave_out(state, at, word("not_needed", state.locale))


def waiting_steps(state: RunState) -> tuple[int, frozenset[str]]:
    """Which steps wait in which revision of the plan: by it can be told whether a person changed what is to be done."""
    return state.revisions, frozenset(id_ for id_, step in state.steps.items() if step.status is StepStatus.PENDING)


def is_as_planned(state: RunState, draft: PlanDraft) -> bool:
    """Whether a draft of the judge is what waits anyway, so that nobody need review it."""
    waiting = [step for step in (state.plan.steps if state.plan else ()) if _waits(state, step)]
    return [(step.id, step.title, step.description) for step in draft.steps] == [
        (step.id, step.title, step.description) for step in waiting
    ]


def _waits(state: RunState, step: Step) -> bool:
    return state.steps[step.id].status is StepStatus.PENDING


def end_step(state: RunState, at: datetime, step_id: str, outcome: StepOutcome) -> None:
    """Take over what a step brought but its spending, its sources under the ids that the run knows them by."""
    state.sources.merge(outcome.sources)
    progress = state.steps[step_id]
    progress.status, progress.finding, progress.reason = outcome.status, outcome.finding, outcome.reason
    progress.was_cut_short = outcome.was_cut_short
    if progress.ended_by and (outcome.was_cut_short or outcome.status is StepStatus.SKIPPED):
        progress.reason = progress.ended_by
    if progress.skip_asked and outcome.status is StepStatus.SKIPPED:
        progress.reason = word("skipped_on_request", state.locale)
    progress.claims = tuple(_under_first_id(state, claim) for claim in outcome.claims)
    for text in outcome.notices:
        state.notice(at, text)
    state.release(step_id)
    state.ledger.close(step_id)
    said = [str(outcome.status), _titles(state)[step_id], *([progress.reason] if progress.reason else [])]
    state.hand_off(at, step_id, "research team", ": ".join(said)[:MAX_ENTRY_CHARS])


def _under_first_id(state: RunState, claim: CheckedClaim) -> CheckedClaim:
    source = state.sources.get(claim.source_id)
    return claim if source is None else claim.model_copy(update={"source_id": source.id})


def _titles(state: RunState) -> dict[str, str]:
    return {step.id: step.title for step in (state.plan.steps if state.plan else ())}


def settle_waiting_steps(state: RunState, at: datetime) -> None:
    """Nothing runs and nothing can start: what still waits is left out, or waits for steps that never end."""
    if state.finishing:
        leave_out(state, at, word("finished_early", state.locale))
        return
    for step_id, progress in state.steps.items():
        if progress.status is StepStatus.PENDING:
            outcome = StepOutcome(status=StepStatus.FAILED, reason="the steps that it depends on never end")
            end_step(state, at, step_id, outcome)


def gaps(state: RunState) -> tuple[str, ...]:
    """What a reader must be told is missing, a sentence each."""
    titles = _titles(state)
    keys = {StepStatus.FAILED: "step_failed", StepStatus.SKIPPED: "step_skipped"}
    return tuple(
        word(
            keys.get(progress.status, "step_ended_early" if progress.reason else "step_cut_short"),
            state.locale,
            title=titles[step_id],
            reason=progress.reason,
        )
        for step_id, progress in state.steps.items()
        if (progress.status in keys and not progress.was_not_needed) or progress.was_cut_short
    )


def report_notes(state: RunState) -> tuple[str, ...]:
    """What stands in the report about what is missing, a sentence each."""
    return (*gaps(state), *state.limits_met)


def end_phase(state: RunState) -> Phase:
    """`completed`, or `completed_with_gaps` when steps or searches brought nothing or the report is not whole."""
    is_short = state.has_gaps or gaps(state) or _found_nothing(state)
    return Phase.COMPLETED_WITH_GAPS if is_short else Phase.COMPLETED


def _found_nothing(state: RunState) -> bool:
    """Whether steps were to search, and no source came of that."""
    steps = state.plan.steps if state.plan else ()
    return state.request.can_search and any(step.need_search for step in steps) and not state.sources.sources
