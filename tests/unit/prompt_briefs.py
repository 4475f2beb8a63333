"""Briefs of every role, for the tests of prompts and tools."""

from collections.abc import Iterator
from datetime import date

from deer.models import (
    AnyBrief,
    Check,
    CheckedClaim,
    Clarification,
    ClarifyingQuestion,
    CoordinatorBrief,
    FindingBrief,
    JudgeBrief,
    Plan,
    PlannerBrief,
    RejectedReply,
    ReporterBrief,
    ReportStyle,
    Role,
    SourceBrief,
    Step,
    StepBrief,
    StepStatus,
    StepType,
    TextRef,
)

TODAY = date(2031, 3, 9)
QUESTION = "How loud is the Velmar K7 at minus 20 °C?"
STEP_ROLES = (Role.RESEARCHER, Role.ANALYST, Role.CODER)
STEP = Step(id="s2", title="Noise", description="Find its sound power.", step_type=StepType.RESEARCH, need_search=True)
PLAN = Plan(revision=1, title="The Velmar K7", thought="Noise is asked.", steps=(STEP,))
SOURCE = SourceBrief(id="s1-2", title="Data sheet", url="https://velmar.example/k7?a=1&b=2", text="54 dB(A) at -20 °C")
CLAIM = CheckedClaim(text="It makes 54 dB(A).", source_id="s1-2", quote="54 dB(A) at -20 °C", check=Check.VERIFIED)
DONE = FindingBrief(
    step_id="s1", title="Data", status=StepStatus.DONE, summary="54 dB(A)", claims=(CLAIM,), notices=("one page",)
)
FAILED = FindingBrief(
    step_id="s3", title="Prices", status=StepStatus.FAILED, summary=None, reason="the search engine was unreachable"
)


def coordinator(
    locale: str, *, is_fixed: bool = False, question: str = QUESTION, questions_left: int = 0, answer: str = ""
) -> CoordinatorBrief:
    asked = Clarification(question=ClarifyingQuestion(text="Which model?", options=("K7", "K9")), answer=answer)
    return CoordinatorBrief(
        question=question,
        locale=locale,
        today=TODAY,
        locale_is_fixed=is_fixed,
        clarifications=(asked,) if answer else (),
        questions_left=questions_left,
    )


def planner(
    locale: str,
    *,
    can_search: bool = True,
    earlier_plan: Plan | None = PLAN,
    question: str = QUESTION,
    hostile: str = "use two steps",
) -> PlannerBrief:
    return PlannerBrief(
        question=question,
        locale=locale,
        today=TODAY,
        topics=(f"noise {hostile}", "price"),
        max_steps=7,
        can_search=can_search,
        background=(SOURCE,),
        findings=(DONE, FAILED),
        earlier_plan=earlier_plan,
        feedback=(hostile,),
        rejected=(RejectedReply(reply=hostile, error="steps.0.title: is empty"),),
    )


def step_brief(
    locale: str,
    role: Role,
    *,
    can_search: bool = True,
    need_search: bool = True,
    question: str = QUESTION,
    findings: tuple[FindingBrief, ...] = (DONE, FAILED),
    background: tuple[SourceBrief, ...] = (SOURCE,),
) -> StepBrief:
    return StepBrief(
        question=question,
        locale=locale,
        today=TODAY,
        role=role,
        step=STEP.model_copy(update={"need_search": need_search}),
        max_turns=13,
        can_search=can_search,
        findings=findings,
        background=background,
    )


def judge(locale: str, *, question: str = QUESTION) -> JudgeBrief:
    return JudgeBrief(
        question=question,
        locale=locale,
        today=TODAY,
        plan=PLAN,
        findings=(DONE, FAILED),
        round=2,
        max_rounds=3,
        max_steps=7,
    )


def reporter(
    locale: str,
    *,
    style: ReportStyle = ReportStyle.NEUTRAL,
    sources: tuple[SourceBrief, ...] = (SOURCE,),
    written: str | TextRef = "",
    question: str = QUESTION,
) -> ReporterBrief:
    return ReporterBrief(
        question=question,
        locale=locale,
        today=TODAY,
        style=style,
        plan=PLAN,
        findings=(DONE, FAILED),
        sources=sources,
        written=written,
    )


def one_brief_per_role(locale: str, question: str = QUESTION) -> dict[Role, AnyBrief]:
    return {
        Role.COORDINATOR: coordinator(locale, question=question),
        Role.PLANNER: planner(locale, question=question),
        **{role: step_brief(locale, role, question=question) for role in STEP_ROLES},
        Role.JUDGE: judge(locale, question=question),
        Role.REPORTER: reporter(locale, question=question),
    }


def every_kind_of_brief(locale: str) -> Iterator[AnyBrief]:
    yield from one_brief_per_role(locale).values()
    yield coordinator(locale, is_fixed=True)
    yield coordinator(locale, questions_left=2, answer="the K7")
    yield planner(locale, can_search=False, earlier_plan=None)
    for role in STEP_ROLES:
        yield step_brief(locale, role, need_search=False)
        yield step_brief(locale, role, can_search=False)
    yield from (reporter(locale, style=style) for style in ReportStyle)
    yield reporter(locale, sources=(), written="# The Velmar K7\n\nIt is")
