"""What planners really send, over HTTP and through the real flow: read, asked for again, or a failed run."""

import json
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus

from deer.models import Phase, RunStatus, StepType
from tests.running import Runs
from tests.scripted import (
    SMALL_PLAN,
    ScriptedServices,
    Text,
    ToolCall,
    ToolCalls,
    call_tool,
    plan_of,
    research_step,
)

GOOD: dict[str, Any] = {
    "locale": "en-US",
    "has_enough_context": False,
    "thought": "t",
    "title": "T",
    "steps": [
        {"need_search": True, "title": "S1", "description": "D1", "step_type": "research"},
        {"need_search": False, "title": "S2", "description": "D2", "step_type": "processing"},
    ],
}
WRITTEN = json.dumps(GOOD)
WITHOUT_TYPES = {**GOOD, "steps": [{k: v for k, v in s.items() if k != "step_type"} for s in GOOD["steps"]]}
PROSE = "1. Find the market size\n2. Compare the three vendors"
ECHO = '{"research_topic":"news today","locale":"zh-CN"}'
ALMOST = (
    r"{'locale':'en-US','has_enough_context':False,'thought':None,'title':'It\'s T','steps':"
    "[{'need_search':True,'title':'S1','description':'D1','step_type':'research',},],}"
)


async def shown_plan(runs: Runs, scripted: ScriptedServices, *replies: Any) -> RunStatus:
    """The run when its plan waits for review, after these replies of the planner."""
    scripted.scripts["planner"] = list(replies)
    run = await runs.start("What is the value?")
    return await run.reach(Phase.AWAITING_REVIEW)


def steps_of(status: RunStatus) -> list[tuple[str, StepType, bool]]:
    """Title, type and wish to search of each step of the plan that is shown."""
    assert status.plan
    return [(step.title, step.step_type, step.need_search) for step in status.plan.steps]


READ = {
    "P01 fence": f"```json\n{WRITTEN}\n```",
    "P03 closed thoughts": f'<think>Maybe {{"steps":[]}} would do?</think>\n{WRITTEN}',
    "orphan closing tag": f'Maybe {{"steps":[]}} would do?\n</think>\n{WRITTEN}',
    "unclosed thoughts": f'<think>Maybe {{"steps":[]}} would do?\n{WRITTEN}',
    "P07 no step types": json.dumps(WITHOUT_TYPES),
    "upper-case step types": WRITTEN.replace("research", "RESEARCH").replace("processing", "Processing"),
    "another object first": f"{ECHO}\n{WRITTEN}",
    "Python": str(GOOD),
    "wrapped": json.dumps({"plan": GOOD}),
    "other names": WRITTEN.replace("need_search", "need_web_search")
    .replace("step_type", "type")
    .replace("steps", "tasks"),
    "steps in an object": json.dumps({**GOOD, "steps": dict(zip(("step_1", "step_2"), GOOD["steps"], strict=True))}),
    "full-width signs": "".join("“”"[n % 2] + p if n else p for n, p in enumerate(WRITTEN.split('"'))).replace(
        ":", "："
    ),
    "by a tool": call_tool("plan", **GOOD),
}


@pytest.mark.parametrize("reply", READ.values(), ids=READ)
async def test_a_plan_in_any_dress_is_shown_after_one_call(runs: Runs, scripted: ScriptedServices, reply: Any) -> None:
    """The two steps are shown as they were meant after exactly one call, and no thought of the model is."""
    status = await shown_plan(runs, scripted, reply)
    assert scripted.log.count("planner") == 1
    assert steps_of(status) == [("S1", StepType.RESEARCH, True), ("S2", StepType.PROCESSING, False)]
    assert status.plan
    assert (status.plan.title, status.plan.thought, status.plan.has_enough_context) == ("T", "t", False)
    assert "would do" not in status.model_dump_json()


async def test_steps_alone_are_a_plan_on_the_question(runs: Runs, scripted: ScriptedServices) -> None:
    """A bare list of steps is shown under what was asked."""
    status = await shown_plan(runs, scripted, json.dumps(GOOD["steps"]))
    assert status.plan
    assert status.plan.title == "What is the value?"
    assert [title for title, *_ in steps_of(status)] == ["S1", "S2"]


async def test_almost_json_keeps_its_words(runs: Runs, scripted: ScriptedServices) -> None:
    """P05: with single quotes, trailing commas and Python's words, the apostrophe survives and False is false."""
    status = await shown_plan(runs, scripted, ALMOST)
    assert scripted.log.count("planner") == 1
    assert status.plan
    assert (status.plan.title, status.plan.has_enough_context, status.plan.thought) == ("It's T", False, "")
    assert steps_of(status) == [("S1", StepType.RESEARCH, True)]


ASKED_AGAIN = {
    "P12 the run's own state": (ECHO, "steps: is missing"),
    "P14 a Markdown list": (PROSE, "no JSON object"),
    "P21 nothing": ("", "the reply is empty"),
    "P21 blanks": ("   ", "the reply is empty"),
    "P21 null": (Text(None), "the reply is empty"),
    "P21 an empty object": ("{}", "steps: is missing"),
    "P09 empty steps": (json.dumps({**GOOD, "steps": [{}, {}]}), "steps.0.title: is missing"),
    "no steps": (json.dumps({**GOOD, "steps": []}), "steps: a plan needs at least one step"),
    "an unknown type": (WRITTEN.replace("processing", "guess"), "steps.1.step_type: 'guess' is not one of"),
    "no language": (json.dumps({**GOOD, "locale": "{locale}"}), "locale: '{locale}' is no language tag"),
    "cut, as the endpoint says": (Text(WRITTEN, finish_reason="length"), "cut off"),
    "cut, as only the brackets say": (WRITTEN[:-40], "breaks off"),
    "cut thoughts": (f"<think>Maybe {WRITTEN}", "no JSON object"),
}


@pytest.mark.parametrize(("reply", "reason"), ASKED_AGAIN.values(), ids=ASKED_AGAIN)
async def test_a_reply_without_a_usable_plan_is_asked_for_again(
    runs: Runs, scripted: ScriptedServices, reply: Any, reason: str
) -> None:
    """One more call, which is told the rule that was broken; no other plan is shown in between."""
    status = await shown_plan(runs, scripted, reply, WRITTEN)
    first, second = scripted.log.calls("planner")
    assert reason in second.text
    assert reason not in first.text
    assert "None" not in second.text
    assert status.plan
    assert (status.plan.revision, len(status.plan.steps), status.plan.title) == (1, 2, "T")


NEVER_A_PLAN = {
    "P14 Markdown every time": ((PROSE,), "no JSON object", "Compare the three vendors"),
    "P21 nothing in four ways": (("", "   ", Text(None), "{}"), "reply is empty", ""),
    "P09 empty steps every time": ((json.dumps({**GOOD, "steps": [{}, {}]}),), "steps.0.title: is missing", "[{}, {}]"),
}


@pytest.mark.parametrize(("replies", "reason", "last_words"), NEVER_A_PLAN.values(), ids=NEVER_A_PLAN)
async def test_a_planner_that_never_writes_a_plan_fails_the_run(
    runs: Runs, scripted: ScriptedServices, replies: tuple[Any, ...], reason: str, last_words: str
) -> None:
    """After three replies the run has failed with the reason, and the last reply stands in its record."""
    scripted.scripts["planner"] = list(replies)
    run = await runs.start("What is the value?")
    assert await run.closed() == WorkflowExecutionStatus.FAILED
    status = await run.status()
    assert status.phase is Phase.FAILED
    assert reason in (status.reason or "")
    assert scripted.log.count("planner") == 3
    assert status.plan is None
    assert any(last_words in notice for notice in status.notices)
    assert await run.record() == status


async def test_bad_plans_after_an_edit_leave_the_plan_before_them(runs: Runs, scripted: ScriptedServices) -> None:
    """P09: when a new plan cannot be had, the plan before it still waits and can be approved."""
    scripted.scripts["planner"] = [SMALL_PLAN, json.dumps({**GOOD, "steps": [{}, {}]})]
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    await run.update("review", {"decision": "edit", "feedback": "fewer steps"})
    status = await run.reach(Phase.AWAITING_REVIEW)
    assert scripted.log.count("planner") == 4
    assert any("steps.0.title: is missing" in notice for notice in status.notices)
    await run.approve()
    assert (await run.end()).phase is Phase.COMPLETED


@pytest.mark.parametrize("look_around", [False, True])
async def test_enough_context_without_steps_cites_what_was_found_only(
    runs: Runs, scripted: ScriptedServices, look_around: bool
) -> None:
    """P16: a plan without steps goes to the report, which cites the background's results or says that it has none."""
    scripted.scripts["planner"] = plan_of(has_enough_context=True, thought="known")
    status = await runs.complete("What is the value?", look_around=look_around)
    assert status.phase is Phase.COMPLETED
    assert scripted.log.count("researcher") == 0
    assert status.report
    cited = {source.id for source in status.sources if source.cited}
    assert cited == ({"b-1", "b-2", "b-3"} if look_around else set())
    assert ("no source" in status.report.markdown.lower()) is not look_around


async def test_never_more_steps_than_allowed(runs: Runs, scripted: ScriptedServices) -> None:
    """P18: of thirty steps three are shown with a notice, and thirty of a person's own are refused."""
    thirty = [research_step(f"subject-n{n}") for n in range(30)]
    scripted.scripts["planner"] = plan_of(*thirty)
    run = await runs.start("What is the value?", max_steps=3)
    status = await run.reach(Phase.AWAITING_REVIEW)
    assert status.plan
    assert len(status.plan.steps) == 3
    assert "The plan had 30 steps, of which 3 are allowed; the last ones were cut." in status.notices
    refusal = await run.refusal("review", {"decision": "edit", "plan": {"title": "T", "steps": thirty}})
    assert "steps: 30 steps given, at most 3 allowed" in refusal
    await run.approve()
    status = await run.end()
    assert status.plan
    assert len(status.plan.steps) == 3


@pytest.mark.parametrize(
    ("first", "notice"),
    [
        ([research_step("subject-a1")] * 3, "had the step “Look at subject-a1” more than once; it was kept once."),
        (
            [{**research_step("subject-a1"), "depends_on": [1]}],
            "step “Look at subject-a1” was to wait for itself or in a circle; it goes without that.",
        ),
    ],
)
async def test_a_fault_that_stays_to_the_last_is_mended(
    runs: Runs, scripted: ScriptedServices, first: list[Any], notice: str
) -> None:
    """A planner that repeats a step or has it wait for itself, thrice, has its plan shown without, and a notice."""
    scripted.scripts["planner"] = plan_of(*first, research_step("subject-b2"))
    run = await runs.start("What is the value?")
    status = await run.reach(Phase.AWAITING_REVIEW)
    assert scripted.log.count("planner") == 3
    assert [title for title, *_ in steps_of(status)] == ["Look at subject-a1", "Look at subject-b2"]
    assert [one.removeprefix("The plan ").removeprefix("The ") for one in status.notices] == [notice]


async def test_a_coordinator_that_writes_the_plan_itself_hands_over(runs: Runs, scripted: ScriptedServices) -> None:
    """K01: a plan instead of a hand-off does not end the run; the planner is asked, and the run goes on."""
    scripted.scripts["coordinator"] = WRITTEN
    status = await runs.complete("What is the value?")
    assert status.phase is Phase.COMPLETED
    assert scripted.log.count("planner") == 1
    assert status.report


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps({"steps": [research_step("subject-r2")], "thought": "the second angle is missing"}),
        f"<think>More.</think>\n```json\n{json.dumps([research_step('subject-r2')])}\n```",
        ToolCalls((ToolCall("revise_plan", {"tasks": {"a": research_step("subject-r2")}, "reason": "more"}),)),
    ],
)
async def test_a_judges_plan_is_read_like_a_planners(runs: Runs, scripted: ScriptedServices, reply: Any) -> None:
    """A revised plan in words, or under other names, is a second round after one call of the judge."""
    scripted.scripts["judge"] = reply
    status = await runs.complete("What is the value?", max_rounds=2)
    assert (status.phase, status.round) == (Phase.COMPLETED, 2)
    assert scripted.log.count("judge") == 1
    assert status.plan
    assert [step.id for step in status.plan.steps] == ["s1", "s2", "s3"]


QUOTED = json.dumps({"steps": [research_step("subject-r2")], "thought": "the plan as it was"})
NO_REVISION = {
    "a quotation": (f"The findings answer the question. The plan was: {QUOTED}", "neither respond nor revise_plan"),
    "a fence in prose": (f"Rejected idea:\n```json\n{QUOTED}\n```\nIt is enough.", "neither respond nor revise_plan"),
    "a draft in thoughts": (f"<think>Perhaps {QUOTED}?</think>\nIt is enough.", "neither respond nor revise_plan"),
    "the plan that was carried out": (
        call_tool("revise_plan", steps=[{**research_step("subject-a1"), "id": "s1"}], reason="as it was"),
        "steps: each of them has begun already",
    ),
}


@pytest.mark.parametrize(("reply", "complaint"), NO_REVISION.values(), ids=NO_REVISION)
async def test_a_judge_that_quotes_a_plan_does_not_revise_it(
    runs: Runs, scripted: ScriptedServices, reply: Any, complaint: str
) -> None:
    """A plan among words, or one whose steps have all ended, starts no round: the judge is told, and asked again."""
    scripted.scripts["judge"] = [reply, call_tool("respond", reason="enough")]
    status = await runs.complete("What is the value?", max_rounds=2)
    assert (status.phase, status.round) == (Phase.COMPLETED, 1)
    _, second = scripted.log.calls("judge")
    assert complaint in second.text


async def test_a_judge_may_say_in_json_that_it_is_enough(runs: Runs, scripted: ScriptedServices) -> None:
    """A reply that is a plan without steps, as enough is known, ends the research without asking again."""
    scripted.scripts["judge"] = json.dumps({"has_enough_context": True, "thought": "all is there", "steps": []})
    status = await runs.complete("What is the value?", max_rounds=2)
    assert (status.phase, status.round) == (Phase.COMPLETED, 1)
    assert scripted.log.count("judge") == 1
    assert any(handoff.reason == "all is there" for handoff in status.handoffs)


async def test_a_judge_whose_arguments_are_broken_is_asked_again(runs: Runs, scripted: ScriptedServices) -> None:
    """Arguments of a tool call that are not JSON are not guessed at: the judge is told, and answers again."""
    broken = ToolCalls((ToolCall("revise_plan", "{'steps': [{'title': 'A'}], 'reason': 'more'}"),))
    scripted.scripts["judge"] = [broken, call_tool("respond", reason="enough")]
    status = await runs.complete("What is the value?", max_rounds=2)
    assert (status.phase, status.round) == (Phase.COMPLETED, 1)
    first, second = scripted.log.calls("judge")
    assert "not valid JSON" in second.text
    assert "not valid JSON" not in first.text
