"""What a person asks of a run while something else is going on: each control does the same as when it comes alone."""

from typing import Any

import pytest

from deer.models import Kind, Phase, RunStatus, StepStatus
from tests.eventually import always, eventually
from tests.running import Run, Runs
from tests.scripted import REFUSED_KEY, ScriptedServices, ToolCall, ToolCalls, call_tool, plan_of, research_step
from tests.workflow.test_controls import BROKEN, caught, control, ended, statuses, two_steps

NEW_STEP = {"title": "Look at subject-n9", "description": "What is subject-n9?", "step_type": "research"}
REVISES = call_tool("revise_plan", reason="more", steps=[research_step("subject-r2")])
RESPONDS = call_tool("respond", reason="The findings are enough.")


def subjects_searched(scripted: ScriptedServices) -> str:
    """All that was searched for."""
    return " ".join(str(call.body.get("query")) for call in scripted.log.calls("search"))


async def settled(scripted: ScriptedServices) -> int:
    """Wait until no call is in flight; how many were made."""
    await eventually(lambda: all(call.finished for call in scripted.log.calls()), "the end of the calls in flight")
    return len(scripted.log)


async def called(scripted: ScriptedServices, role: str) -> None:
    """Wait until a role was asked."""
    await eventually(lambda: scripted.log.count(role) > 0, f"the {role}'s call")


async def silent(scripted: ScriptedServices, calls: int) -> None:
    """See to it that no call is made after so many."""
    await always(lambda: len(scripted.log) == calls, "the silence of a paused run", for_s=0.4)


async def reported(run: Run, *phases: Phase) -> RunStatus:
    """Wait until a run has ended with a report, in one of these phases."""
    status = await run.end()
    assert status.phase in phases, (status.phase, status.reason, status.notices)
    assert status.report
    return status


# Budgets and pauses


async def test_a_budget_spent_in_a_pause_ends_in_a_report(runs: Runs, scripted: ScriptedServices) -> None:
    """The call in flight spends what was left; the resumed run leaves out the rest and reports."""
    two_steps(scripted)
    gate = scripted.hold("researcher", nth=3)
    run = await runs.start(auto_accept=True, max_parallel_steps=1, budget={"tokens": 600})
    await caught(gate)
    await control(run, "pause")
    gate.open()
    await ended(run, "s1")
    assert (await run.status()).phase is Phase.PAUSED
    await control(run, "resume")
    status = await reported(run, Phase.COMPLETED_WITH_GAPS)
    assert statuses(status)["s2"] is StepStatus.SKIPPED


async def test_a_budget_lowered_in_a_pause_ends_in_a_report(runs: Runs, scripted: ScriptedServices) -> None:
    """A plan approved in the pause for which nothing is left is left out, and the reader is told."""
    run = await runs.start()
    await run.reach(Phase.AWAITING_REVIEW)
    await control(run, "pause")
    await run.update("review", {"revision": 1, "decision": "approve"})
    await control(run, "budget", budget={"tokens": 1})
    await control(run, "resume")
    status = await reported(run, Phase.COMPLETED_WITH_GAPS)
    assert scripted.log.count("researcher") == 0
    assert status.budget[Kind.TOKENS].limit == 1


@pytest.mark.parametrize(("then", "phase"), [("finish", Phase.COMPLETED_WITH_GAPS), ("resume", Phase.COMPLETED)])
async def test_a_pause_taken_back_at_once_leaves_nothing_behind(
    runs: Runs, scripted: ScriptedServices, then: str, phase: Phase
) -> None:
    """Two signals right after each other count in their order: the run is not paused by the first for ever."""
    two_steps(scripted)
    gate = scripted.hold("researcher")
    run = await runs.start(auto_accept=True, max_parallel_steps=1)
    await caught(gate)
    await run.signal("control", {"action": "pause"})
    await run.signal("control", {"action": then})
    gate.open()
    await reported(run, phase)


async def test_a_retry_in_a_pause_makes_no_call(runs: Runs, scripted: ScriptedServices) -> None:
    """What was held, of the run and of a step, is called again once the run is resumed, and once only."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    scripted.fail("planner", REFUSED_KEY)
    scripted.fail("researcher", REFUSED_KEY)
    run = await runs.start(auto_accept=True)
    for role in ("planner", "researcher"):
        await called(scripted, role)
        await run.reach(Phase.NEEDS_ATTENTION)
        await control(run, "pause")
        calls = await settled(scripted)
        await control(run, "retry")
        await silent(scripted, calls)
        assert (await run.status()).phase is Phase.PAUSED
        await control(run, "resume")
    await reported(run, Phase.COMPLETED)
    assert scripted.log.count("planner") == 2


async def test_no_review_deadline_passes_in_a_pause(runs: Runs, scripted: ScriptedServices) -> None:
    """A plan that came in a pause waits as long as that lasts; its time begins when the run is resumed."""
    gate = scripted.hold("planner")
    run = await runs.start(review_deadline=1.0, review_deadline_policy="accept")
    await caught(gate)
    await control(run, "pause")
    gate.open()
    await eventually(lambda: scripted.log.calls("planner")[0].finished, "the planner's answer")
    await always(lambda: scripted.log.count("researcher") == 0, "the pause", for_s=1.6)
    status = await run.status()
    assert status.plan
    assert not any("deadline" in handoff.reason for handoff in status.handoffs)
    await control(run, "resume")
    status = await reported(run, Phase.COMPLETED)
    assert any("deadline" in handoff.reason for handoff in status.handoffs)


# Changes while the judge thinks


@pytest.mark.parametrize(("verdict", "steps"), [(RESPONDS, ["s1", "s2", "s3"]), (REVISES, ["s1", "s2", "s3", "s4"])])
async def test_a_step_added_while_the_judge_thinks_is_carried_out(
    runs: Runs, scripted: ScriptedServices, verdict: ToolCalls, steps: list[str]
) -> None:
    """Whatever the judge says of the findings before it, the added step is done, and the judge asked once more."""
    two_steps(scripted)
    scripted.scripts["judge"] = verdict
    gate = scripted.hold("judge")
    run = await runs.start(auto_accept=True, max_rounds=2)
    await caught(gate)
    assert "s3 is added" in await control(run, "add_step", step={**NEW_STEP, "need_search": True})
    gate.open()
    status = await reported(run, Phase.COMPLETED)
    assert list(statuses(status)) == steps
    assert statuses(status)["s3"] is StepStatus.DONE
    assert "subject-n9" in subjects_searched(scripted)
    assert scripted.log.count("judge") == 2


async def test_a_step_tried_again_while_the_judge_thinks_is_carried_out(runs: Runs, scripted: ScriptedServices) -> None:
    """A failed step that a person sends back to work counts, whatever the judge says of its failure."""
    two_steps(scripted)
    usual: Any = scripted.scripts["researcher"]
    scripted.scripts["researcher"] = lambda call: BROKEN if "subject-a1" in call.text else usual(call)
    scripted.scripts["judge"] = REVISES
    gate = scripted.hold("judge")
    run = await runs.start(auto_accept=True, max_rounds=2)
    await caught(gate)
    scripted.scripts["researcher"] = usual
    await control(run, "retry", step_id="s1")
    gate.open()
    status = await reported(run, Phase.COMPLETED)
    assert statuses(status)["s1"] is StepStatus.DONE


async def test_a_step_changed_while_the_judge_thinks_is_carried_out(runs: Runs, scripted: ScriptedServices) -> None:
    """A waiting step that a person has just changed is not thrown away by a judge that did not know of it."""
    two_steps(scripted)
    gate = scripted.hold("judge")
    run = await runs.start(auto_accept=True, max_rounds=2, replan_after="step")
    await caught(gate)
    await control(run, "edit_step", step_id="s2", step={"title": "Look at subject-m8", "description": "subject-m8?"})
    gate.open()
    status = await reported(run, Phase.COMPLETED)
    assert statuses(status)["s2"] is StepStatus.DONE
    assert "subject-m8" in subjects_searched(scripted)


# Holds


async def test_each_held_call_of_a_step_waits_for_itself(runs: Runs, scripted: ScriptedServices) -> None:
    """Four searches pass their deadline without being made again, and the run is not held any more."""

    def searches_at_once(call: Any) -> Any:
        calls = (ToolCall("web_search", {"query": f"subject-q{number}"}) for number in range(4))
        return (
            ToolCalls(tuple(calls)) if call.rounds == 0 else call_tool("submit_finding", summary="Nothing.", claims=[])
        )

    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    scripted.scripts["researcher"] = searches_at_once
    scripted.fail("search", REFUSED_KEY, times=99)
    gate = scripted.hold("researcher", nth=2)
    run = await runs.start(auto_accept=True, attention_deadline=1.0, look_around=False)
    await run.reach(Phase.NEEDS_ATTENTION)
    await caught(gate)
    assert scripted.log.count("search") == 4
    await run.reach(Phase.RESEARCHING)


# Finishing


@pytest.mark.parametrize("role", ["planner", "judge"])
async def test_finish_gives_up_what_only_then_needs_a_person(runs: Runs, scripted: ScriptedServices, role: str) -> None:
    """A call in flight that is refused after the finish is not waited for, and is no gap of the report."""
    run = await runs.start(auto_accept=role == "judge", max_rounds=2)
    gate = scripted.hold(role, nth=2 if role == "planner" else 1)
    scripted.fail(role, REFUSED_KEY, times=99, first=2 if role == "planner" else 1)
    if role == "planner":
        await run.reach(Phase.AWAITING_REVIEW)
        await run.signal("edit", "compare the cost too")
    await caught(gate)
    await control(run, "finish")
    gate.open()
    status = await reported(run, Phase.COMPLETED_WITH_GAPS if role == "planner" else Phase.COMPLETED)
    assert not any("judge" in notice for notice in status.notices)


@pytest.mark.parametrize("role", ["planner", "judge"])
async def test_finish_out_of_a_pause_pays_only_for_the_report(
    runs: Runs, scripted: ScriptedServices, role: str
) -> None:
    """A call that waited for the end of the pause is not made, nor missed in the report."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    gate = scripted.hold("researcher", nth=3)
    run = await runs.start(auto_accept=role == "judge", max_rounds=2)
    if role == "judge":
        await caught(gate)
        await control(run, "pause")
        gate.open()
        await ended(run, "s1")
    else:
        await run.reach(Phase.AWAITING_REVIEW)
        await control(run, "pause")
        await run.signal("edit", "compare the cost too")
    calls = await settled(scripted)
    await silent(scripted, calls)
    await control(run, "finish")
    status = await reported(run, Phase.COMPLETED if role == "judge" else Phase.COMPLETED_WITH_GAPS)
    assert [call.role for call in scripted.log.calls()[calls:]] == ["reporter"]
    assert not any(role in notice for notice in status.notices)


# Steps


async def test_a_step_can_be_skipped_after_it_was_sent_back_to_work(runs: Runs, scripted: ScriptedServices) -> None:
    """Skip, retry and skip again: the last word counts."""
    two_steps(scripted)
    gate = scripted.hold("researcher")
    run = await runs.start(auto_accept=True, max_parallel_steps=1)
    await caught(gate)
    for action in ("skip", "retry", "skip"):
        assert "s2 is" in await control(run, action, step_id="s2")
    gate.open()
    status = await reported(run, Phase.COMPLETED_WITH_GAPS)
    assert statuses(status) == {"s1": StepStatus.DONE, "s2": StepStatus.SKIPPED}
    assert "subject-b2" not in subjects_searched(scripted)
