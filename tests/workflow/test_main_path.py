"""From a question to a report: the way that most runs take."""

import json

from temporalio.client import WorkflowExecutionStatus

from deer.models import Check, Phase, StepStatus
from deer.wording import word
from tests.eventually import eventually
from tests.running import Runs, completed_activities
from tests.scripted import (
    Failure,
    Json,
    ScriptedServices,
    Text,
    ToolCall,
    ToolCalls,
    analysis_step,
    call_tool,
    most_at_once,
    plan_of,
    research_step,
)


async def test_a_question_becomes_an_approved_plan_and_a_cited_report(runs: Runs, scripted: ScriptedServices) -> None:
    """The plan waits, an approval starts the steps, and the report cites by number what the run has read."""
    run = await runs.start("What is the value?")
    waiting = await run.reach(Phase.AWAITING_REVIEW)
    assert waiting.plan
    assert waiting.plan.revision == 1
    assert [step.id for step in waiting.plan.steps] == ["s1", "s2"]
    assert scripted.log.count("researcher") == 0
    assert (await run.recorded(Phase.AWAITING_REVIEW)).plan == waiting.plan

    await run.signal("approve")
    assert await run.closed() == WorkflowExecutionStatus.COMPLETED
    status = await run.status()
    assert status.phase is Phase.COMPLETED
    assert status.plan
    assert [step.status for step in status.plan.steps] == [StepStatus.DONE] * 2
    cited = sorted((source for source in status.sources if source.cited), key=lambda source: source.number or 0)
    assert [source.number for source in cited] == list(range(1, len(cited) + 1))
    assert any(source.read for source in cited)
    assert status.report
    assert status.report.markdown.startswith("# Report")
    assert all(f"[{source.number}]" in status.report.markdown for source in cited)
    assert all(source.url in status.report.markdown for source in cited)
    assert [claim.check for claim in status.report.claims] == [Check.VERIFIED]
    assert await run.record() == status


async def test_every_call_is_counted_and_made_once(runs: Runs, scripted: ScriptedServices) -> None:
    """Usage counts what was paid for, and nothing is asked twice."""
    status = await runs.complete("What is the value?")
    assert status.usage.model_calls == scripted.log.count("model") == 7
    assert status.usage.searches == scripted.log.count("search") == 2
    assert status.usage.pages == scripted.log.count("page") == 1
    assert status.usage.input_tokens == 7 * 100
    assert len({call.key for call in scripted.log.calls()}) == len(scripted.log)


async def test_every_hand_over_is_recorded_with_its_reason(runs: Runs) -> None:
    """The hand-offs tell who had the run, from the coordinator to the report, in order and in words."""
    run = await runs.start("What is the value?", auto_accept=True)
    status = await run.end()
    assert (status.handoffs[0].sender, status.handoffs[0].to) == ("coordinator", "planner")
    senders = [handoff.sender for handoff in status.handoffs]
    assert senders.index("coordinator") < senders.index("planner") < senders.index("s1") < senders.index("s2")
    assert "reporter" in [handoff.to for handoff in status.handoffs]
    assert all(handoff.reason for handoff in status.handoffs)
    assert [handoff.at for handoff in status.handoffs] == sorted(handoff.at for handoff in status.handoffs)
    shown = json.loads(json.dumps(await run.handle.query("status")))
    assert set(shown["handoffs"][0]) == {"at", "from", "to", "reason"}


async def test_small_talk_is_answered_without_research(runs: Runs, scripted: ScriptedServices) -> None:
    """A direct answer arrives as text, in a run that is complete and asked nobody else."""
    scripted.scripts["coordinator"] = call_tool("direct_response", message="Hello! Ask me something.", locale="en-US")
    run = await runs.start("Hi there")
    assert await run.closed() == WorkflowExecutionStatus.COMPLETED
    status = await run.status()
    assert status.phase is Phase.ANSWERED
    assert status.answer == "Hello! Ask me something."
    assert status.report is None
    assert scripted.log.count() == 1
    assert await run.record() == status


async def test_a_coordinator_that_writes_the_plan_itself_hands_over_all_the_same(
    runs: Runs, scripted: ScriptedServices
) -> None:
    """Case K01: a real question answered with text and no tool call goes on to the planner."""
    scripted.scripts["coordinator"] = plan_of(research_step("subject-x1"))
    status = await runs.complete("What is the value?")
    assert status.phase is Phase.COMPLETED
    assert scripted.log.count("planner") == 1
    assert status.report


async def test_several_intents_reach_the_planner_as_topics(runs: Runs, scripted: ScriptedServices) -> None:
    """Each hand-over of one reply is a topic of its own."""
    calls = tuple(ToolCall("handoff_to_planner", {"research_topic": f"topic {n}", "locale": "en-US"}) for n in (1, 2))
    scripted.scripts["coordinator"] = ToolCalls(calls)
    await runs.complete("Two things please")
    assert all(topic in scripted.log.text("planner") for topic in ("topic 1", "topic 2"))


async def test_the_locale_holds_for_every_role_and_label(runs: Runs, scripted: ScriptedServices) -> None:
    """A request's locale reaches every role, beats the coordinator's, and names the list of references."""
    status = await runs.complete("What is the value?", locale="zh-CN")
    assert status.locale == "zh-CN"
    for call in scripted.log.calls("model"):
        assert "zh-CN" in call.text, call.role
    assert status.report
    assert word("references", "zh-CN") in status.report.markdown


async def test_a_chinese_question_is_worked_on_in_chinese(runs: Runs, scripted: ScriptedServices) -> None:
    """Without a locale in the request, that of the question holds for researcher, analyst and reporter."""
    scripted.scripts["coordinator"] = call_tool("handoff_to_planner", research_topic="热泵", locale="zh-CN")
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"), analysis_step(), locale="zh-CN")
    status = await runs.complete("热泵在寒冷地区怎么样？")
    assert status.locale == "zh-CN"
    for role in ("planner", "researcher", "analyst", "reporter"):
        assert all("zh-CN" in call.text for call in scripted.log.calls(role)), role


async def test_a_failing_background_search_is_a_notice(runs: Runs, scripted: ScriptedServices) -> None:
    """The look around may fail: the run says so and goes on to a whole report."""
    scripted.fail("search", Failure(400, {"detail": {"error": "scripted refusal"}}))
    status = await runs.complete("What is the value?")
    assert status.phase is Phase.COMPLETED
    assert any("scripted refusal" in notice for notice in status.notices)


async def test_looking_around_can_be_left_out(runs: Runs, scripted: ScriptedServices) -> None:
    """Without the background search only the step searches."""
    await runs.complete("What is the value?", look_around=False)
    assert scripted.log.count("search") == 1


async def test_independent_steps_run_side_by_side_up_to_the_limit(runs: Runs, scripted: ScriptedServices) -> None:
    """Of four independent steps three run at once where three may, and the analysis sees what all of them found."""
    steps = [research_step(f"subject-p{number}") for number in range(1, 5)]
    scripted.scripts["planner"] = plan_of(*steps, analysis_step())
    gate = scripted.hold("search", where=lambda call: str(call.body["query"]).startswith("facts on"))
    run = await runs.start("What is the value?", auto_accept=True, max_parallel_steps=3)
    await eventually(lambda: len(gate.caught) == 3, "three searches at once")
    status = await run.status()
    assert status.plan
    assert [step.status for step in status.plan.steps] == [StepStatus.RUNNING] * 3 + [StepStatus.PENDING] * 2
    gate.open()
    assert (await run.end()).phase is Phase.COMPLETED
    assert most_at_once(scripted.log.calls("researcher")) <= 3
    assert all(f"subject-p{number}" in scripted.log.text("analyst") for number in range(1, 5))


async def test_one_address_found_by_two_steps_is_one_source(runs: Runs, scripted: ScriptedServices) -> None:
    """Variants of an address are one source with one number, while a different query string is another."""
    variants = iter(["/page/same", "/page/same?utm_source=x", "/page/same#s2"])

    def results(query: str) -> list[Json]:
        addresses = [scripted.url + next(variants), f"{scripted.url}/page/other?id={len(query)}"]
        return [{"title": "P", "url": address, "content": "the measured value of x"} for address in addresses]

    scripted.setup.results = results
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"), research_step("subject-b22"))
    status = await runs.complete("What is the value?")
    same = [source for source in status.sources if "/page/same" in source.url]
    other = [source for source in status.sources if "/page/other" in source.url]
    assert len(same) == 1
    assert same[0].number
    assert len(other) == 3
    assert status.report
    assert status.report.markdown.count("/page/same") == 1


async def test_a_failed_step_is_recorded_as_failed_and_the_others_go_on(runs: Runs, scripted: ScriptedServices) -> None:
    """A step that a service refuses has a reason and no finding; the run ends with gaps and tells the reporter."""
    usual = scripted.scripts["researcher"]
    assert callable(usual)
    refusal = Failure(400, {"error": {"message": "scripted refusal", "type": "invalid_request_error"}})
    scripted.scripts["researcher"] = lambda call: refusal if "subject-bad" in call.text else usual(call)
    scripted.scripts["planner"] = plan_of(research_step("subject-good"), research_step("subject-bad"))
    status = await runs.complete("What is the value?")
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert status.plan
    good, bad = status.plan.steps
    assert (good.status, bad.status) == (StepStatus.DONE, StepStatus.FAILED)
    assert bad.finding is None
    assert "scripted refusal" in (bad.reason or "")
    assert "scripted refusal" in scripted.log.text("reporter")
    assert status.report
    assert bad.title in status.report.markdown


async def test_a_model_that_says_nothing_fails_only_its_step(runs: Runs, scripted: ScriptedServices) -> None:
    """Null content without a tool call, again and again, is a failed step with a reason, never a finding."""
    scripted.scripts["researcher"] = Text(None)
    status = await runs.complete("What is the value?")
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert status.plan
    assert [step.status for step in status.plan.steps] == [StepStatus.FAILED, StepStatus.DONE]
    assert status.plan.steps[0].reason
    assert "None" not in json.dumps([call.text for call in scripted.log.calls("model")])


async def test_queries_answer_while_the_run_waits_and_after_its_end(runs: Runs) -> None:
    """`status`, `progress`, `plan` and `report` answer at any time, and progress goes on from its cursor."""
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    before = await run.progress()
    assert before.phase is Phase.AWAITING_REVIEW
    assert before.entries
    plan = json.dumps(await run.handle.query("plan"))
    assert "Look at subject-a1" in plan
    await run.signal("approve")
    status = await run.end()
    after = await run.progress(before.cursor)
    assert after.phase is Phase.COMPLETED
    assert after.entries
    assert after.entries[0].at >= before.entries[-1].at
    assert (await run.progress(after.cursor)).entries == ()
    assert status.report
    assert status.report.markdown.strip() in str(await run.handle.query("report"))


async def test_the_question_and_the_phase_stand_in_temporals_own_view(runs: Runs) -> None:
    """Temporal's UI has the question, a picture of the plan, the phase as a search attribute, and named activities."""
    run = await runs.start("What is the value of it?")
    await run.reach(Phase.AWAITING_REVIEW)

    async def phase() -> bool:
        described = await run.handle.describe()
        return any("awaiting_review" in pair for pair in map(str, described.typed_search_attributes.search_attributes))

    await eventually(phase, "the phase as a search attribute")
    details = str(await run.handle.query("__temporal_workflow_metadata"))
    assert "subject-a1" in details
    await run.signal("approve")
    await run.end()
    assert {"coordinate", "search_web", "write_plan", "write_report", "save_run"} <= set(
        completed_activities(await run.events())
    )
