"""What each role is told of a run, made from its state."""

from collections.abc import Iterable
from datetime import date

from deer.flow.coordination import clarified_question, questions_left
from deer.flow.state import RunState
from deer.flow.views import finding_briefs
from deer.models import (
    CoordinatorBrief,
    JudgeBrief,
    PlannerBrief,
    RejectedReply,
    ReporterBrief,
    Role,
    Source,
    SourceBrief,
    Step,
    StepBrief,
    StepType,
    StoredText,
)

MAX_CITABLE_SOURCES = 300
"""Sources that the reporter is shown; more would fill its context and the payload without being cited."""

MAX_SOURCES_CHARS = 20_000
MIN_SOURCE_CHARS = 100

_ROLES = {
    StepType.RESEARCH: Role.RESEARCHER,
    StepType.ANALYSIS: Role.ANALYST,
    # the coder needs a sandbox, which this version does not have: the analyst does what can be done without code
    StepType.PROCESSING: Role.ANALYST,
}


def coordinator_brief(state: RunState, today: date) -> CoordinatorBrief:
    """For the coordinator."""
    return CoordinatorBrief(
        question=state.request.question,
        locale=state.locale,
        today=today,
        earlier=state.earlier,
        locale_is_fixed=state.request.locale is not None,
        clarifications=state.clarifications,
        questions_left=questions_left(state),
    )


def planner_brief(state: RunState, today: date, rejected: tuple[RejectedReply, ...]) -> PlannerBrief:
    """For the planner; after a request for changes it sees the plan and all that was asked for so far."""
    return PlannerBrief(
        question=clarified_question(state),
        locale=state.locale,
        today=today,
        earlier=state.earlier,
        topics=state.topics,
        max_steps=state.request.max_steps,
        can_search=can_search(state),
        thinks_deeply=state.request.deep_thinking,
        background=_background(state),
        findings=finding_briefs(state),
        earlier_plan=state.plan,
        feedback=state.feedback,
        rejected=rejected,
    )


def step_brief(state: RunState, step: Step, today: date) -> StepBrief:
    """For the agent of a step: what the steps before it found, and what the background search brought."""
    role = _ROLES[step.step_type]
    return StepBrief(
        question=clarified_question(state),
        locale=state.locale,
        today=today,
        role=role,
        step=step,
        max_turns=state.request.max_turns,
        can_search=can_search(state) and role is Role.RESEARCHER,
        findings=finding_briefs(state, step.depends_on),
        background=_background(state),
    )


def judge_brief(state: RunState, today: date, rejected: tuple[RejectedReply, ...]) -> JudgeBrief:
    """For the judge, once a plan was carried out."""
    assert state.plan is not None
    return JudgeBrief(
        question=clarified_question(state),
        locale=state.locale,
        today=today,
        plan=state.plan,
        findings=finding_briefs(state),
        round=state.round,
        max_rounds=state.request.max_rounds,
        max_steps=state.request.max_steps,
        rejected=rejected,
    )


def reporter_brief(state: RunState, today: date, written: StoredText) -> ReporterBrief:
    """For the reporter."""
    return ReporterBrief(
        question=clarified_question(state),
        locale=state.locale,
        today=today,
        earlier=state.earlier,
        style=state.request.report_style,
        topics=state.topics if len(state.topics) > 1 else (),
        plan=state.plan,
        findings=finding_briefs(state),
        sources=_bounded(_source_briefs(_citable(state))),
        written=written,
    )


def _citable(state: RunState) -> tuple[Source, ...]:
    """The sources that the reporter is shown: those that claims rest on first, then those that were read."""
    claimed = {claim.source_id for progress in state.steps.values() for claim in progress.claims}
    ranked = sorted(state.sources.all(), key=lambda source: (source.id not in claimed, not source.read))
    return tuple(ranked[:MAX_CITABLE_SOURCES])


def _bounded(sources: tuple[SourceBrief, ...]) -> tuple[SourceBrief, ...]:
    """Sources whose texts share what the reporter needs of them beside the findings: many say less, each."""
    room = max(MIN_SOURCE_CHARS, MAX_SOURCES_CHARS // max(1, len(sources)))
    return tuple(source.model_copy(update={"text": str(source.text)[:room]}) for source in sources)


def can_search(state: RunState) -> bool:
    """Whether the run may search at all."""
    return state.request.can_search


def _background(state: RunState) -> tuple[SourceBrief, ...]:
    return _source_briefs(state.background())


def _source_briefs(sources: Iterable[Source]) -> tuple[SourceBrief, ...]:
    return tuple(
        SourceBrief(id=source.id, title=source.title, url=source.url, text=source.summary) for source in sources
    )
