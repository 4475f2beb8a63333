"""The extractive model role by role: plans, small talk, failures, reports."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from deer.models import (
    ChatMessage,
    ChatReply,
    Check,
    CheckedClaim,
    CoordinatorBrief,
    FindingBrief,
    JudgeBrief,
    Plan,
    PlannerBrief,
    ReporterBrief,
    ReportStyle,
    Role,
    SourceBrief,
    Speaker,
    Step,
    StepBrief,
    StepStatus,
    StepType,
    Usage,
)
from tests.unit.offline.roles import TODAY, called, complete, plan_of


@pytest.mark.parametrize("max_steps", [1, 2, 3, 4, 5])
async def test_plans_keep_to_their_limit(max_steps: int) -> None:
    """No plan is longer than allowed, and what does not fit is asked in the last research step."""
    topics = ("noise of heat pumps", "cost of heat pumps", "refrigerants", "signals", "timers", "timers")
    brief = _planner_brief("all of it", topics=topics, max_steps=max_steps)
    plan = plan_of(json.loads((await complete(brief, Role.PLANNER)).content))
    assert 1 <= len(plan.steps) <= max_steps
    assert len({step.title for step in plan.steps}) == len(plan.steps)
    described = " ".join(step.description for step in plan.steps)
    assert all(topic in described for topic in topics)


async def test_feedback_adds_and_removes_steps() -> None:
    """Words of a reviewer become a further step, "remove step 2" takes that step away, the others keep their ids."""
    earlier = Plan(
        revision=1,
        title="Pumps",
        steps=(_step("s1", "Noise"), _step("s2", "Cost"), _step("s3", "Side by side", StepType.ANALYSIS)),
    )
    feedback = ("Please remove step 2 and look at refrigerants in Norway too",)
    brief = _planner_brief("heat pumps", earlier_plan=earlier, feedback=feedback)
    written = json.loads((await complete(brief, Role.PLANNER)).content)
    assert [step.get("id") for step in written["steps"]] == ["s1", None, "s3"]
    assert "refrigerants in Norway" in written["steps"][1]["description"]
    assert written["steps"][2]["depends_on"] == [1, 2]


@pytest.mark.parametrize(
    ("message", "locale", "words"),
    [
        ("Hello there!", "en-US", "Ask me a question"),
        ("  hi  ", "en-US", "Ask me a question"),
        ("你好！", "zh-CN", "你好"),
        ("谢谢你", "zh-CN", "不客气"),
        ("Thank you very much", "en-US", "welcome"),
        ("Who are you?", "en-US", "no language model"),
        ("再见", "zh-CN", "再见"),
    ],
)
async def test_small_talk_is_answered(message: str, locale: str, words: str) -> None:
    """Greetings, thanks and questions about the program get an answer in their language and no research."""
    ((name, arguments),) = await _coordinate(message)
    assert (name, arguments["locale"]) == ("direct_response", locale)
    assert words in arguments["message"]


@pytest.mark.parametrize(
    ("question", "locale"),
    [
        ("Hi, what is a heat pump?", "en-US"),
        ("Temporal 的工作流如何恢复？", "zh-CN"),
        ("ヒートポンプとは何ですか", "en-US"),
        ("Explain heat pumps in Chinese", "zh-CN"),
        ("请用英文介绍热泵", "en-US"),
        ("test results of heat pumps", "en-US"),
    ],
)
async def test_questions_are_handed_over_in_their_language(question: str, locale: str) -> None:
    """A question is no small talk because it begins politely; a language asked for beats the one it is written in."""
    calls = await _coordinate(question)
    assert calls == [("handoff_to_planner", {"research_topic": question, "locale": locale})]


async def test_a_fixed_locale_is_kept() -> None:
    """The request's language beats what the question looks like."""
    brief = CoordinatorBrief(question="你好", locale="en-US", today=TODAY, locale_is_fixed=True)
    ((_, arguments),) = called(await complete(brief, Role.COORDINATOR, ("handoff_to_planner", "direct_response")))
    assert arguments["message"].startswith("Hello!")


async def test_failed_searches_are_told() -> None:
    """When every search fails, the step says so, claims nothing and does not search for ever."""
    step = StepBrief(
        question="heat pumps",
        locale="en-US",
        today=TODAY,
        role=Role.RESEARCHER,
        step=_step("s1", "Noise"),
        max_turns=20,
        can_search=True,
    )
    tools = ("web_search", "read_page", "submit_finding")
    first = await complete(step, Role.RESEARCHER, tools)
    said = [_said(first), *_answers(first, {"error": "the search engine is down"})]
    ((name, finding),) = called(await complete(step, Role.RESEARCHER, tools, said))
    assert (name, finding["claims"]) == ("submit_finding", [])
    assert "the search engine is down" in finding["summary"]


async def test_replies_that_are_no_json_do_no_harm() -> None:
    """Nonsense from a tool counts as an error, and the step ends."""
    step = StepBrief(
        question="heat pumps",
        locale="zh-CN",
        today=TODAY,
        role=Role.RESEARCHER,
        step=_step("s1", "Noise"),
        max_turns=20,
        can_search=True,
    )
    tools = ("web_search", "submit_finding")
    first = await complete(step, Role.RESEARCHER, tools)
    for nonsense in ("", "[]", "null", '{"results": [1, {"id": ""}, {"id": "s1-1", "score": "x"}]}', "\x00"):
        said = [_said(first), ChatMessage(speaker=Speaker.TOOL, content=nonsense, call_id=first.calls[0].id)]
        ((name, finding),) = called(await complete(step, Role.RESEARCHER, tools, said))
        assert (name, finding["claims"]) == ("submit_finding", [])


async def test_only_verified_claims_are_reported() -> None:
    """What could not be checked, or cites a source that may not be cited, is left out of the report."""
    claims = (
        _claim("A stands in its source.", "s1-1", Check.VERIFIED),
        _claim("B does not stand there.", "s1-1", Check.UNVERIFIED),
        _claim("C cites what nobody knows.", "s9-9", Check.VERIFIED),
    )
    report = (await complete(_reporter_brief(_finding("s1", claims)), Role.REPORTER)).content
    assert "A stands in its source. [s1-1]" in report
    assert "B does" not in report
    assert "C cites" not in report


async def test_a_report_that_was_begun_is_finished() -> None:
    """Asked to go on, the reporter writes the rest only."""
    brief = _reporter_brief(_finding("s1", (_claim("A stands in its source.", "s1-1", Check.VERIFIED),)))
    whole = (await complete(brief, Role.REPORTER)).content
    rest = await complete(brief.model_copy(update={"written": whole[:50]}), Role.REPORTER)
    assert whole[:50] + rest.content == whole


async def test_sources_alone_are_reported_where_no_step_was_needed() -> None:
    """With enough context and no steps, the sentences of the sources themselves answer."""
    brief = ReporterBrief(
        question="What does the Vexor valve weigh?",
        locale="en-US",
        today=TODAY,
        style=ReportStyle.NEUTRAL,
        plan=Plan(revision=1, title="Valve", has_enough_context=True),
        findings=(),
        sources=(SourceBrief(id="b-1", title="Vexor valve", url="doc://c/v.md", text="The Vexor valve weighs 12 kg."),),
    )
    assert "The Vexor valve weighs 12 kg. [b-1]" in (await complete(brief, Role.REPORTER)).content


async def test_the_judge_is_content() -> None:
    """A second round of the same words would find the same sentences, so the judge never asks for one."""
    finding = _finding("s1", (_claim("A stands in its source.", "s1-1", Check.VERIFIED),))
    plan = Plan(revision=1, title="Pumps", steps=(_step("s1", "Noise"),))
    brief = JudgeBrief(
        question="q", locale="en-US", today=TODAY, plan=plan, findings=(finding,), round=1, max_rounds=3, max_steps=5
    )
    reply = await complete(brief, Role.JUDGE, ("respond", "revise_plan"))
    assert called(reply) == [("respond", {"reason": "Sentences that answer were found for 1 of 1 steps."})]


async def test_no_model_is_counted() -> None:
    """Nothing was called, so nothing is spent."""
    brief = _planner_brief("heat pumps")
    assert (await complete(brief, Role.PLANNER)).usage == Usage()


def _planner_brief(question: str, topics: Sequence[str] = (), max_steps: int = 5, **more: Any) -> PlannerBrief:
    return PlannerBrief(
        question=question,
        locale="en-US",
        today=TODAY,
        topics=tuple(topics) or (question,),
        max_steps=max_steps,
        can_search=True,
        **more,  # Any: what a test adds to the brief
    )


def _step(step_id: str, title: str, step_type: StepType = StepType.RESEARCH) -> Step:
    return Step(id=step_id, title=title, description=f"About {title}", step_type=step_type)


def _claim(text: str, source_id: str, check: Check) -> CheckedClaim:
    return CheckedClaim(text=text, source_id=source_id, quote=text, check=check)


def _finding(step_id: str, claims: tuple[CheckedClaim, ...]) -> FindingBrief:
    return FindingBrief(step_id=step_id, title="Noise", status=StepStatus.DONE, summary="s", claims=claims)


def _reporter_brief(finding: FindingBrief) -> ReporterBrief:
    return ReporterBrief(
        question="q",
        locale="en-US",
        today=TODAY,
        style=ReportStyle.NEUTRAL,
        plan=Plan(revision=1, title="Pumps", steps=(_step("s1", "Noise"),)),
        findings=(finding,),
        sources=(SourceBrief(id="s1-1", title="Pumps", url="doc://c/p.md", text="A stands in its source."),),
    )


async def _coordinate(question: str) -> list[tuple[str, dict[str, Any]]]:
    brief = CoordinatorBrief(question=question, locale="en-US", today=TODAY, locale_is_fixed=False)
    return called(await complete(brief, Role.COORDINATOR, ("handoff_to_planner", "direct_response")))


def _said(reply: ChatReply) -> ChatMessage:
    return ChatMessage(speaker=Speaker.ASSISTANT, content=reply.content, calls=reply.calls)


def _answers(reply: ChatReply, content: dict[str, str]) -> list[ChatMessage]:
    written = json.dumps(content)
    return [ChatMessage(speaker=Speaker.TOOL, content=written, call_id=call.id) for call in reply.calls]
