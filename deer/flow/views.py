"""A run as people and programs see it: the status object, the texts it shows only the beginning of, live progress."""

from typing import Any

from deer.flow.budget import budget_status
from deer.flow.plans import ENDED
from deer.flow.state import RunState
from deer.models import (
    Counts,
    FindingBrief,
    PlanStatus,
    ProgressPage,
    ReportStatus,
    RunOutcome,
    RunStatus,
    RunUsage,
    SourceStatus,
    StepStatusView,
    TextRef,
    shown,
)


def status_of(state: RunState) -> RunStatus:
    """The status object; texts over 8 KB appear as their previews, which `references_of` says how to fill."""
    claims = tuple(claim for progress in state.steps.values() for claim in progress.claims)
    return RunStatus(
        id=state.id,
        phase=state.phase,
        reason=state.reason,
        question=state.request.question,
        locale=state.locale,
        round=state.round,
        max_rounds=state.request.max_rounds,
        plan=_plan_status(state),
        sources=tuple(
            SourceStatus(
                id=source.id,
                number=source.number,
                url=source.url,
                title=source.title,
                read=source.read,
                cited=source.cited,
            )
            for source in state.sources.all()
        ),
        handoffs=state.handoffs,
        usage=RunUsage(**state.usage.model_dump(include=set(Counts.model_fields)), roles=state.spent_by),
        budget=budget_status(state),
        notices=state.notices,
        report=None if state.report is None else ReportStatus(markdown=shown(state.report), path=None, claims=claims),
        answer=state.answer,
    )


def _plan_status(state: RunState) -> PlanStatus | None:
    if state.plan is None:
        return None
    return PlanStatus(
        revision=state.plan.revision,
        title=state.plan.title,
        thought=state.plan.thought,
        has_enough_context=state.plan.has_enough_context,
        steps=tuple(
            StepStatusView(
                **step.model_dump(),
                status=state.steps[step.id].status,
                finding=_finding_text(state, step.id),
                reason=state.steps[step.id].reason,
            )
            for step in state.plan.steps
        ),
    )


def _finding_text(state: RunState, step_id: str) -> str | None:
    finding = state.steps[step_id].finding
    return None if finding is None else shown(finding.summary)


def references_of(state: RunState) -> dict[str, TextRef]:
    """Where the whole of each text is that the status object shows only the beginning of.

    Keys are `report.markdown` and `plan.steps.<id>.finding`.
    """
    texts = {
        f"plan.steps.{step_id}.finding": progress.finding.summary
        for step_id, progress in state.steps.items()
        if progress.finding is not None
    }
    if state.report is not None:
        texts["report.markdown"] = state.report
    return {path: text for path, text in texts.items() if isinstance(text, TextRef)}


def progress_since(state: RunState, since: Any, running: tuple[str, ...] = ()) -> ProgressPage:  # as it was delivered
    """What happened after a cursor. An unknown cursor asks from the beginning of what is kept."""
    return ProgressPage(
        cursor=state.progress.cursor,
        phase=state.phase,
        reason=state.reason,
        entries=state.progress.since(since),
        running_steps=running,
    )


def outcome_of(state: RunState) -> RunOutcome:
    """The result of the workflow."""
    report = None if state.report is None else shown(state.report)
    return RunOutcome(id=state.id, phase=state.phase, reason=state.reason, answer=state.answer, report=report)


def finding_briefs(state: RunState, step_ids: tuple[str, ...] | None = None) -> tuple[FindingBrief, ...]:
    """The ended steps as other roles are told of them, in the plan's order; `step_ids` None means all."""
    titles = {step.id: step.title for step in (state.plan.steps if state.plan else ())}
    return tuple(
        FindingBrief(
            step_id=step_id,
            title=titles[step_id],
            status=progress.status,
            summary=progress.finding.summary if progress.finding else None,
            claims=progress.claims,
            reason=progress.reason,
            notices=progress.finding.notices if progress.finding else (),
        )
        for step_id, progress in state.steps.items()
        if progress.status in ENDED and (step_ids is None or step_id in step_ids)
    )
