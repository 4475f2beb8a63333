"""The planner's bad replies, and plans of later rounds."""

from deer.models import Phase, StepStatus
from tests.running import Runs
from tests.scripted import (
    SMALL_PLAN,
    ScriptedServices,
    ToolCall,
    ToolCalls,
    analysis_step,
    call_tool,
    most_at_once,
    plan_of,
    research_step,
)

PROSE = "1. Find the market size\n2. Compare the three vendors"


def revision(*subjects: str) -> ToolCalls:
    """A judge's reply that asks for research steps on these subjects."""
    return call_tool("revise_plan", steps=[research_step(s) for s in subjects], reason="the second angle is missing")


async def test_a_plan_in_prose_is_asked_for_again_with_the_reason(runs: Runs, scripted: ScriptedServices) -> None:
    """One bad reply costs one more call, which is told what was wrong."""
    scripted.scripts["planner"] = [PROSE, SMALL_PLAN]
    status = await runs.complete("What is the value?")
    assert status.phase is Phase.COMPLETED
    first, second = scripted.log.calls("planner")
    assert "Compare the three vendors" in second.text
    assert len(second.text) > len(first.text)


async def test_one_round_asks_no_judge(runs: Runs, scripted: ScriptedServices) -> None:
    """By default the findings are reported as they are."""
    status = await runs.complete("What is the value?")
    assert (status.round, status.max_rounds) == (1, 1)
    assert scripted.log.count("judge") == 0


async def test_the_judge_can_ask_for_another_round(runs: Runs, scripted: ScriptedServices) -> None:
    """A revised plan is a new revision with new step ids; finished steps stay finished and are not done again."""
    scripted.scripts["judge"] = revision("subject-r2")
    status = await runs.complete("What is the value?", max_rounds=2)
    assert status.phase is Phase.COMPLETED
    assert status.round == 2
    assert scripted.log.count("judge") == 1
    assert status.plan
    assert status.plan.revision == 2
    assert [step.id for step in status.plan.steps] == ["s1", "s2", "s3"]
    assert {step.status for step in status.plan.steps} == {StepStatus.DONE}
    asked = [call for call in scripted.log.calls("researcher") if "subject-a1" in call.messages[1]["content"]]
    assert len([call for call in asked if call.rounds == 0]) == 1


async def test_a_judge_that_is_content_ends_the_research(runs: Runs, scripted: ScriptedServices) -> None:
    """With rounds left, `respond` goes on to the report."""
    status = await runs.complete("What is the value?", max_rounds=3)
    assert (status.phase, status.round) == (Phase.COMPLETED, 1)
    assert scripted.log.count("judge") == 1


async def test_a_revised_plan_waits_for_review(runs: Runs, scripted: ScriptedServices) -> None:
    """Unless accepted by itself, the plan of the second round waits like the first."""
    scripted.scripts["judge"] = revision("subject-r2")
    run = await runs.start("What is the value?", max_rounds=2)
    await run.approve()
    await run.reach(Phase.RESEARCHING, Phase.AWAITING_REVIEW)
    waiting = await run.reach(Phase.AWAITING_REVIEW)
    while waiting.plan and waiting.plan.revision == 1:
        waiting = await run.reach(Phase.AWAITING_REVIEW)
    assert waiting.plan
    assert waiting.plan.revision == 2
    assert "revision 1" in await run.refusal("review", {"revision": 1, "decision": "approve"})
    await run.update("review", {"revision": 2, "decision": "approve"})
    assert (await run.end()).phase is Phase.COMPLETED


async def test_a_later_plan_that_cannot_be_used_ends_in_a_report_with_gaps(
    runs: Runs, scripted: ScriptedServices
) -> None:
    """What the first round found is reported when the second round's plan is no plan."""
    scripted.scripts["judge"] = call_tool("revise_plan", steps=[{}], reason="more")
    status = await runs.complete("What is the value?", max_rounds=2)
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert scripted.log.count("judge") <= 3
    assert status.report
    assert status.plan
    assert [step.status for step in status.plan.steps] == [StepStatus.DONE] * 2


async def test_code_gives_the_ids_and_the_usual_dependencies(runs: Runs, scripted: ScriptedServices) -> None:
    """Without `depends_on` research steps depend on nothing and an analysis on every step before it."""
    scripted.scripts["planner"] = plan_of(
        research_step("subject-a1"),
        research_step("subject-b1"),
        analysis_step(),
        analysis_step(title="Compare again", depends_on=[1]),
    )
    run = await runs.start("What is the value?")
    status = await run.reach(Phase.AWAITING_REVIEW)
    assert status.plan
    assert [step.depends_on for step in status.plan.steps] == [(), (), ("s1", "s2"), ("s1",)]


async def test_each_topic_gets_a_step_and_a_section(runs: Runs, scripted: ScriptedServices) -> None:
    """A question that asks two things: a plan with one step is sent back, and the reporter is told both topics."""
    topics = ("Heat pumps on subject-a1", "Boilers on subject-b2")
    scripted.scripts["coordinator"] = ToolCalls(
        tuple(ToolCall("handoff_to_planner", {"research_topic": topic, "locale": "en-US"}) for topic in topics)
    )
    scripted.scripts["planner"] = [
        plan_of(research_step("subject-a1")),
        plan_of(research_step("subject-a1"), research_step("subject-b2")),
    ]
    status = await runs.complete("How good are heat pumps? And boilers?")
    assert status.phase is Phase.COMPLETED
    assert "the question has 2 topics" in scripted.log.calls("planner")[1].text
    assert all(topic in scripted.log.text("reporter") for topic in topics)


async def test_findings_are_judged_after_each_step_where_asked(runs: Runs, scripted: ScriptedServices) -> None:
    """Steps run one by one; the judge lets the plan go on as it was, changes what follows, or does without it."""
    steps = [research_step(f"subject-{name}") for name in ("a1", "b2", "c3")]
    scripted.scripts["planner"] = plan_of(*steps)
    waiting = [{"id": f"s{at}", **step} for at, step in enumerate(steps, 1)]
    scripted.scripts["judge"] = [
        call_tool("revise_plan", steps=waiting[1:], reason="as planned"),
        call_tool("revise_plan", steps=[research_step("subject-n9"), waiting[2]], reason="one more thing"),
        call_tool("respond", reason="enough is known"),
    ]
    status = await runs.complete("What is the value?", max_rounds=3, replan_after="step")
    assert (status.phase, status.round, scripted.log.count("judge")) == (Phase.COMPLETED, 2, 3)
    assert status.plan
    assert status.plan.revision == 2
    done, skipped = StepStatus.DONE, StepStatus.SKIPPED
    assert {step.id: step.status for step in status.plan.steps} == {"s1": done, "s2": done, "s4": done, "s3": skipped}
    assert status.plan.steps[-1].reason == "the findings were enough without it"
    assert most_at_once(scripted.log.calls("researcher")) == 1


async def test_a_judge_of_no_use_does_not_end_what_was_approved(runs: Runs, scripted: ScriptedServices) -> None:
    """Between steps, replies that are no verdict are asked for again, then the plan goes on."""
    scripted.scripts["judge"] = call_tool("revise_plan", steps=[{}], reason="more")
    status = await runs.complete("What is the value?", max_rounds=2, replan_after="step")
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert status.plan
    assert {step.status for step in status.plan.steps} == {StepStatus.DONE}
