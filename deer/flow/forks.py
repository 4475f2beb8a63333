"""New runs from old ones: a fork goes on from a step, a follow-up knows what an earlier run reported."""

from datetime import datetime

from deer.errors import Refused
from deer.flow.ledger import Ledger
from deer.flow.state import ReviewState, RunState, StepProgress
from deer.flow.team import ended_steps
from deer.models import FoundSource, Phase, Recalled, ResearchRequest


def forked(state: RunState, step_id: str, run_id: str, request: ResearchRequest, at: datetime) -> RunState:
    """The beginning of a run that has what `state` had before a step: plan, findings and sources, and nothing spent.

    The step and all after it in the plan are to be done, once a person has approved. Raises Refused.
    """
    if state.plan is None:
        raise Refused(f"run {state.id} has no plan, and so no step to fork from")
    order = [step.id for step in state.plan.steps]
    if step_id not in order:
        raise Refused(f"there is no step {step_id!r} in run {state.id}; the steps are: {', '.join(order)}")
    kept = [each for each in order[: order.index(step_id)] if each in ended_steps(state)]
    fork = RunState(
        id=run_id,
        request=request,
        phase=Phase.PLANNING,
        locale=state.locale,
        topics=state.topics,
        clarifications=state.clarifications,
        plan=state.plan.model_copy(update={"revision": 1, "has_enough_context": False}),
        steps={each: state.steps[each].model_copy() if each in kept else StepProgress() for each in order},
        steps_named=state.steps_named,
        revisions=1,
        review=ReviewState.WAITING,
        sources=state.sources.behind(("b", *kept), [claim for each in kept for claim in state.steps[each].claims]),
        ledger=Ledger(budget=request.budget),
        earlier=state.earlier,
    )
    fork.hand_off(at, f"run {state.id}", "review", f"a fork that keeps what came before {step_id}")
    fork.notice(at, f"a fork of run {state.id} from step {step_id}")
    return fork


def take_earlier(state: RunState, at: datetime, recalled: Recalled) -> None:
    """The run follows up on another: its report is context, its cited sources are known from the beginning."""
    state.earlier = recalled.report
    for found in recalled.sources:
        state.sources.add(found)
    state.record(at, f"follows up on run {recalled.report.run_id}: {len(recalled.sources)} sources")


def recalled_from(state: RunState) -> tuple[FoundSource, ...]:
    """The sources that a report cites, in the order of their numbers, as another run takes them over."""
    cited = sorted((source for source in state.sources.all() if source.number), key=lambda source: source.number or 0)
    return tuple(
        FoundSource(
            url=source.url,
            title=source.title,
            summary=source.summary,
            text=source.texts[-1] if source.texts else None,
            read=source.read,
        )
        for source in cited
    )
