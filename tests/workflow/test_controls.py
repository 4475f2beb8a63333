"""What a person tells a run to do while it goes on: what is done at once, what is refused and why."""

from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType

from deer.models import Phase, RunStatus, StepStatus
from tests.eventually import always, eventually
from tests.running import Run, Runs
from tests.scripted import (
    REFUSED_KEY,
    Failure,
    Gate,
    Json,
    ScriptedServices,
    analysis_step,
    plan_of,
    research_step,
)

BROKEN = Failure(400, {"error": {"message": "scripted refusal"}})


def about(subject: str) -> Any:  # a predicate over calls, as `hold` takes it
    """Whether a call is made for the step that looks at a subject."""
    return lambda call: subject in call.text


async def control(run: Run, action: str, **fields: object) -> str:
    """Send a control that must be taken; what the run says it did."""
    answer: str = await run.update("control", {"action": action, **fields})
    return answer


async def caught(gate: Gate, count: int = 1) -> None:
    """Wait until a gate holds so many calls."""
    await eventually(lambda: len(gate.caught) >= count, f"{count} held calls")


async def ended(run: Run, step_id: str) -> StepStatus:
    """Wait until a step has ended, and how."""

    async def look() -> StepStatus | None:
        status = statuses(await run.status())[step_id]
        return status if status not in (StepStatus.PENDING, StepStatus.RUNNING) else None

    return await eventually(look, f"the end of {step_id}")


def statuses(status: RunStatus) -> dict[str, StepStatus]:
    """How far each step has come."""
    return {step.id: step.status for step in status.plan.steps} if status.plan else {}


def two_steps(scripted: ScriptedServices, *more: Json) -> None:
    """A plan of two independent research steps, and more."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"), research_step("subject-b2"), *more)


async def test_a_paused_run_ends_its_calls_and_begins_none(runs: Runs, scripted: ScriptedServices) -> None:
    """Pause lets the call in flight finish and no other begin, in steps too; resume goes on without repeating it."""
    two_steps(scripted, analysis_step())
    gate = scripted.hold("researcher")
    run = await runs.start("What is the value?", auto_accept=True)
    await caught(gate, 2)
    assert "paused" in await control(run, "pause")
    calls = len(scripted.log)
    gate.open()
    await eventually(lambda: all(call.finished for call in scripted.log.calls()), "the end of the calls in flight")
    assert (await run.recorded(Phase.PAUSED)).reason == (await run.status()).reason
    assert "already" in await run.refusal("control", {"action": "pause"})
    await always(lambda: len(scripted.log) == calls, "the silence of a paused run", for_s=0.5)
    assert "goes on" in await control(run, "resume")
    status = await run.end()
    assert status.phase is Phase.COMPLETED
    keys = [call.key for call in scripted.log.calls()]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("action", ["pause", "finish"])
async def test_what_begins_nothing_new_is_answered_when_all_steps_know(
    runs: Runs, scripted: ScriptedServices, action: str
) -> None:
    """Each step at work has said that it heard of a pause or finish before its answer: later no call can begin."""
    two_steps(scripted, research_step("subject-c3"))
    gate = scripted.hold("researcher")
    run = await runs.start("What is the value?", auto_accept=True)
    await caught(gate)  # others may still be starting
    await control(run, action)
    names = [EventType.Name(event.event_type).removeprefix("EVENT_TYPE_") for event in await run.events()]
    answered = names.index("WORKFLOW_EXECUTION_UPDATE_COMPLETED")
    assert names[:answered].count("WORKFLOW_EXECUTION_SIGNALED") == 3
    calls = len(scripted.log)
    await always(lambda: len(scripted.log) == calls, "no further call", for_s=0.3)
    gate.open()
    if action == "pause":
        await control(run, "resume")
    await run.end()


async def test_a_plan_approved_in_a_pause_is_carried_out_after_it(runs: Runs, scripted: ScriptedServices) -> None:
    """A paused run takes reviews, and begins nothing before it is resumed."""
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    await run.signal("control", "pause")
    await run.reach(Phase.PAUSED)
    await run.update("review", {"revision": 1, "decision": "approve"})
    assert statuses(await run.status())["s1"] is StepStatus.PENDING
    assert scripted.log.count("researcher") == 0
    await control(run, "resume")
    assert (await run.end()).phase is Phase.COMPLETED


async def test_skipped_steps_are_left_out_and_told(runs: Runs, scripted: ScriptedServices) -> None:
    """A waiting step is skipped at once, one at work is ended; what builds on them is told what is missing."""
    two_steps(scripted, research_step("subject-c3"), analysis_step())
    gate = scripted.hold("researcher", where=about("subject-a1"))
    run = await runs.start("What is the value?", auto_accept=True, max_parallel_steps=1)
    await caught(gate)
    assert "s2 is skipped" in await control(run, "skip", step_id="s2")
    assert "s1 is being ended" in await control(run, "skip", step_id="s1")
    assert "already" in await run.refusal("control", {"action": "skip", "step_id": "s2"})
    status = await run.end()
    skipped, done = StepStatus.SKIPPED, StepStatus.DONE
    assert statuses(status) == {"s1": skipped, "s2": skipped, "s3": done, "s4": done}
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert status.plan
    assert {step.reason for step in status.plan.steps[:2]} == {"a person asked to do without it"}
    assert "a person asked to do without it" in scripted.log.text("analyst")
    assert status.report
    assert "“Look at subject-b2” was left out" in status.report.markdown


async def test_a_failed_step_is_tried_again(runs: Runs, scripted: ScriptedServices) -> None:
    """While research goes on, retry with a step's id gives it another workflow, and what it finds counts."""
    two_steps(scripted)
    gate = scripted.hold("researcher", where=about("subject-b2"))
    first = scripted.scripts["researcher"]
    scripted.scripts["researcher"] = lambda call: BROKEN if "subject-a1" in call.text else first(call)  # type: ignore[operator]  # a function by default
    run = await runs.start("What is the value?", auto_accept=True)
    await caught(gate)
    assert await ended(run, "s1") is StepStatus.FAILED
    scripted.scripts["researcher"] = first
    assert "has not failed" in await run.refusal("control", {"action": "retry", "step_id": "s2"})
    assert "tried again" in await control(run, "retry", step_id="s1")
    assert await ended(run, "s1") is StepStatus.DONE
    gate.open()
    status = await run.end()
    assert status.phase is Phase.COMPLETED
    assert [name async for name, _ in run.histories()].count(f"{run.id}/s1/2") == 1


async def test_steps_are_added_and_changed_while_others_work(runs: Runs, scripted: ScriptedServices) -> None:
    """A person's step runs in the same round under an id of its own; a waiting one runs as it was changed."""
    two_steps(scripted)
    gate = scripted.hold("researcher")
    run = await runs.start("What is the value?", auto_accept=True, max_parallel_steps=1, max_steps=3)
    await caught(gate)
    new = {"title": "Look at subject-n9", "description": "What is subject-n9?", "step_type": "research"}
    assert "s3 is added" in await control(run, "add_step", step={**new, "need_search": True})
    changed = {"title": "Look at subject-m8", "description": "What is subject-m8?"}
    assert "revision 3" in await control(run, "edit_step", step_id="s2", step=changed)
    assert "cannot be changed any more" in await run.refusal(
        "control", {"action": "edit_step", "step_id": "s1", "step": changed}
    )
    assert "title" in await run.refusal("control", {"action": "add_step", "step": {"title": ""}})
    gate.open()
    status = await run.end()
    assert (status.phase, list(statuses(status))) == (Phase.COMPLETED, ["s1", "s2", "s3"])
    researched = " ".join(call.text for call in scripted.log.calls("researcher"))
    assert "subject-n9" in researched
    assert "subject-m8" in researched
    assert "subject-b2" not in researched


async def test_a_step_added_to_a_plan_in_review_waits_with_it(runs: Runs, scripted: ScriptedServices) -> None:
    """Before the approval it makes another revision, which is the one to approve."""
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    await control(run, "add_step", step={"title": "Costs of subject-n9", "step_type": "research"})
    assert "revision 1 is not the waiting one" in await run.refusal("review", {"revision": 1, "decision": "approve"})
    plan = await run.reach_revision(2)
    assert plan.steps[-1].title == "Costs of subject-n9"
    await run.update("review", {"revision": 2, "decision": "approve"})
    assert (await run.end()).phase is Phase.COMPLETED


async def test_finish_reports_on_what_is_known(runs: Runs, scripted: ScriptedServices) -> None:
    """The call in flight ends, no other begins; what a step had found is its finding, the others are left out."""
    two_steps(scripted, research_step("subject-c3"))
    gate = scripted.hold("researcher", nth=2)
    run = await runs.start("What is the value?", auto_accept=True, max_parallel_steps=1)
    await caught(gate)
    assert "no new calls" in await control(run, "finish")
    assert "finishing already" in await run.refusal("control", {"action": "finish"})
    gate.open()
    status = await run.end()
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert list(statuses(status).values()) == [StepStatus.DONE, StepStatus.SKIPPED, StepStatus.SKIPPED]
    assert status.plan
    assert "ended before it was done" in (status.plan.steps[0].finding or "")
    assert "[s1-1]" in (status.plan.steps[0].finding or "")
    assert scripted.log.count("researcher") == 2
    assert scripted.log.count("reporter") == 1
    assert status.report
    assert "was ended before it was done" in status.report.markdown


async def test_finish_ends_a_review(runs: Runs, scripted: ScriptedServices) -> None:
    """A plan that waits is not carried out; the report says that its steps were left out."""
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    await run.signal("control", {"action": "finish"})
    status = await run.end()
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert scripted.log.count("researcher") == 0
    assert status.report


async def test_finish_gives_up_a_report_that_no_model_can_write(runs: Runs, scripted: ScriptedServices) -> None:
    """A run held at its reporter ends on its findings, joined without a model, when nobody wants to wait longer."""
    scripted.fail("reporter", REFUSED_KEY, times=9)
    run = await runs.start("What is the value?", auto_accept=True)
    await run.reach(Phase.NEEDS_ATTENTION)
    await control(run, "finish")
    status = await run.end()
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert status.report
    assert "was looked up" in status.report.markdown


@pytest.mark.parametrize(("role", "phase"), [("planner", Phase.FAILED), ("researcher", Phase.COMPLETED_WITH_GAPS)])
async def test_a_hold_has_an_end_where_the_request_gives_one(
    runs: Runs, scripted: ScriptedServices, role: str, phase: Phase
) -> None:
    """When nobody mends a call in time it counts as failed, with its reason and the time that was waited."""
    scripted.fail(role, REFUSED_KEY, times=99)
    run = await runs.start("What is the value?", auto_accept=True, attention_deadline=1.0)
    await run.reach(Phase.NEEDS_ATTENTION)
    status = await run.end()
    assert status.phase is phase
    assert "nobody mended it in 0:00:01" in status.model_dump_json()


async def test_a_control_that_does_not_fit_changes_nothing(runs: Runs, scripted: ScriptedServices) -> None:
    """Each refusal says why; as a signal it is a notice."""
    gate = scripted.hold("planner")
    run = await runs.start("What is the value?")
    await caught(gate)
    for message, why in [
        ({"action": "resume"}, "not paused"),
        ({"action": "retry"}, "nothing is held"),
        ({"action": "finish"}, "no plan yet"),
        ({"action": "skip"}, "needs the id of a step"),
        ({"action": "skip", "step_id": "s1"}, "there is no step"),
        ({"action": "add_step", "step": {"title": "A"}}, "being written"),
        ({"action": "stop"}, "action: Input should be 'pause'"),
    ]:
        assert why in await run.refusal("control", message)
    gate.open()
    await run.reach(Phase.AWAITING_REVIEW)
    await run.signal("control", {"action": "skip", "step_id": "s9"})
    await run.refusal("control", {"action": "resume"})  # by its answer the signal has been taken
    assert any("there is no step 's9'" in notice for notice in (await run.status()).notices)
