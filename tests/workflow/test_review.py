"""The human's side of a plan: what is taken, what is refused and why."""

import asyncio

import pytest
from temporalio.client import WorkflowExecutionStatus

from deer.models import Phase, RunStatus
from tests.eventually import eventually
from tests.running import Run, Runs
from tests.scripted import Json, ScriptedServices, analysis_step, plan_of, research_step


def edited_plan(*steps: Json) -> Json:
    """A plan as a person sends it."""
    return {"title": "Edited", "thought": "", "steps": list(steps)}


def step(title: str = "Only this", description: str = "Only subject-k77", **fields: object) -> Json:
    """A step as a person writes it."""
    return {"title": title, "description": description, "step_type": "research", "need_search": True, **fields}


async def noticed(run: Run, words: str) -> RunStatus:
    """The status once a notice says these words."""

    async def look() -> RunStatus | None:
        status = await run.status()
        return status if any(words in notice for notice in status.notices) else None

    return await eventually(look, f"a notice about {words!r}")


async def test_an_approval_before_there_is_a_plan_is_refused_and_not_kept(
    runs: Runs, scripted: ScriptedServices
) -> None:
    """Case A01: approving while the planner is at work is refused; the plan then waits as any other."""
    gate = scripted.hold("planner")
    run = await runs.start("What is the value?")
    await run.reach(Phase.PLANNING)
    assert "plan" in await run.refusal("review", {"revision": 1, "decision": "approve"})
    await run.signal("approve")
    await noticed(run, "plan")
    gate.open()
    await run.reach(Phase.AWAITING_REVIEW)
    await run.refusal("review", {"revision": 9, "decision": "approve"})  # by its answer the workflow has come to rest
    assert (await run.status()).phase is Phase.AWAITING_REVIEW
    assert scripted.log.count("researcher") == 0
    await run.signal("approve")
    assert (await run.end()).phase is Phase.COMPLETED


async def test_what_was_approved_is_what_runs(runs: Runs, scripted: ScriptedServices) -> None:
    """Case A03: after a structured edit only the edited step runs, and the one approved revision is in the report."""
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    await run.update("review", {"revision": 1, "decision": "edit", "plan": edited_plan(step(id="s1"))})
    status = await run.status()
    assert status.phase is Phase.AWAITING_REVIEW
    assert status.plan
    assert (status.plan.revision, [s.id for s in status.plan.steps]) == (2, ["s1"])
    await run.update("review", {"revision": 2, "decision": "approve", "reviewer": "ada"})
    status = await run.end()
    assert status.phase is Phase.COMPLETED
    assert scripted.log.count("analyst") == 0
    assert scripted.log.count("planner") == 1
    assert all(
        "subject-k77" in call.text and "subject-a1" not in call.text for call in scripted.log.calls("researcher")
    )
    assert "Only this" in scripted.log.text("reporter")
    assert "Compare" not in scripted.log.text("reporter").replace("Compared", "")
    assert [handoff.sender for handoff in status.handoffs].count("ada") == 1


async def test_an_approval_on_the_heels_of_an_edit_counts(runs: Runs) -> None:
    """A plan may be edited and approved without a pause in between, and no approval is lost on the way."""

    async def edit_and_approve(run: Run) -> RunStatus:
        await run.reach(Phase.AWAITING_REVIEW)
        await run.update("review", {"revision": 1, "decision": "edit", "plan": edited_plan(step())})
        await run.update("review", {"revision": 2, "decision": "approve"})
        return await run.end()

    started = [await runs.start("What is the value?") for _ in range(6)]
    ends = await asyncio.gather(*map(edit_and_approve, started))
    assert {status.phase for status in ends} == {Phase.COMPLETED}


@pytest.mark.parametrize("feedback", [{"feedback": ""}, {"feedback": "   "}, {"feedback": None}, {}])
async def test_an_empty_edit_is_refused_and_the_plan_still_waits(
    runs: Runs, scripted: ScriptedServices, feedback: Json
) -> None:
    """Case A05: empty feedback of any kind changes nothing, as update and as signal, and approval works afterwards."""
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    assert "feedback" in await run.refusal("review", {"revision": 1, "decision": "edit", **feedback})
    await run.signal("edit", feedback.get("feedback", {}))
    status = await noticed(run, "edit")
    assert status.phase is Phase.AWAITING_REVIEW
    assert status.plan
    assert status.plan.revision == 1
    assert scripted.log.count("planner") == 1
    await run.signal("approve")
    assert (await run.end()).phase is Phase.COMPLETED


INVALID_PLANS = [
    ('{"title": "x", "steps": [', "plan"),
    (edited_plan(), "steps"),
    (edited_plan(step(step_type="guess")), "step_type"),
    (edited_plan(step(), step()), "steps"),
    (edited_plan(step(description="x" * 100_000)), "description"),
    (edited_plan({"description": "no title", "step_type": "research"}), "title"),
    (edited_plan(step(depends_on=["s9"])), "depends_on"),
    (edited_plan(*(step(title=f"T{n}", description=f"D{n}") for n in range(6))), "steps"),
]


async def test_a_persons_plan_is_held_to_the_same_rules(runs: Runs) -> None:
    """Case A09: an invalid plan is refused with the name of the field, and the plan before it is kept."""
    run = await runs.start("What is the value?")
    before = await run.reach(Phase.AWAITING_REVIEW)
    for plan, field in INVALID_PLANS:
        assert field in await run.refusal("review", {"revision": 1, "decision": "edit", "plan": plan})
        after = await run.status()
        assert (after.phase, after.plan) == (before.phase, before.plan), plan


async def test_twenty_edits_are_twenty_new_plans_and_then_a_person_still_decides(
    runs: Runs, scripted: ScriptedServices
) -> None:
    """Case A11: each edit is one planner call that knows the question and all wishes; the 21st is refused."""
    run = await runs.start("What is the value of it all?")
    for number in range(1, 21):
        await run.reach(Phase.AWAITING_REVIEW)
        await run.update("review", {"revision": number, "decision": "edit", "feedback": f"wish-{number}-please"})
    status = await run.reach(Phase.AWAITING_REVIEW)
    assert status.plan
    assert status.plan.revision == 21
    calls = scripted.log.calls("planner")
    assert len(calls) == 21
    assert all("What is the value of it all?" in call.text for call in calls)
    assert all(f"wish-{number}-please" in calls[-1].text for number in range(1, 21))
    assert "20" in await run.refusal("review", {"revision": 21, "decision": "edit", "feedback": "one more"})
    await run.update("review", {"revision": 21, "decision": "approve"})
    assert (await run.end()).phase is Phase.COMPLETED


async def test_an_edit_may_be_a_plain_string_and_an_approval_nothing(runs: Runs, scripted: ScriptedServices) -> None:
    """Both signals can be sent from Temporal's own UI: a JSON string asks for changes, no input approves."""
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    scripted.scripts["planner"] = plan_of(research_step("subject-cost"), analysis_step())
    await run.signal("edit", "compare the cost too")
    await run.reach_revision(2)
    assert "compare the cost too" in scripted.log.calls("planner")[1].text
    assert "subject-a1" in scripted.log.calls("planner")[1].text
    await run.signal("approve")
    await run.end()
    assert "subject-cost" in scripted.log.text("researcher")


async def test_a_stale_revision_is_refused_by_update_and_signal(runs: Runs, scripted: ScriptedServices) -> None:
    """A review of a plan that is no longer the waiting one changes nothing and names the one that waits."""
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    await run.update("review", {"revision": 1, "decision": "edit", "plan": edited_plan(step())})
    assert "2" in await run.refusal("review", {"revision": 1, "decision": "approve"})
    await run.signal("approve", {"revision": 1})
    status = await noticed(run, "revision 1")
    assert status.phase is Phase.AWAITING_REVIEW
    assert scripted.log.count("researcher") == 0


MALFORMED_SIGNALS = [
    ("approve", [1, 2, 3]),
    ("approve", {"revision": "first"}),
    ("approve", {"surprise": True}),
    ("edit", 7),
    ("edit", {"plan": "none", "feedback": "both"}),
    ("control", {"action": "fly"}),
    ("control", None),
    ("answer", {"words": 1}),
]


async def test_a_malformed_signal_is_a_notice(runs: Runs) -> None:
    """A signal that cannot be read is told in the status, and the run waits as before."""
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    for told, (name, argument) in enumerate(MALFORMED_SIGNALS, 1):
        await run.signal(name, argument)
        status = await run.status()  # a query sees what was signalled before it
        assert len(status.notices) == told, argument
        assert f"({name})" in status.notices[-1]
        assert status.phase is Phase.AWAITING_REVIEW
    assert (await run.handle.describe()).status == WorkflowExecutionStatus.RUNNING


async def test_a_signal_with_several_inputs_is_a_notice(runs: Runs) -> None:
    """Temporal's tools can send any number of inputs with one signal: the run says so and waits as before."""
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    for name in ("approve", "edit", "answer", "control"):
        await run.signal(name, "compare", "the costs too")
        status = await noticed(run, f"{name} takes one input, 2 were sent")
        assert status.phase is Phase.AWAITING_REVIEW


async def test_what_is_refused_does_not_swell_the_run(runs: Runs) -> None:
    """Three refused edits of a megabyte each are told in short, and the plan is still approved."""
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    for letter in "abc":
        step = {"title": "a", "description": "b", "step_type": letter * 1_200_000}
        await run.signal("edit", {"plan": {"title": "t", "steps": [step]}})
        await noticed(run, letter * 100)
    await run.approve()
    status = await run.end()
    assert status.phase is Phase.COMPLETED
    assert len(status.model_dump_json()) < 20_000


async def test_a_refused_review_leaves_no_trace_in_history(runs: Runs) -> None:
    """The validator refuses before anything is written: the history does not grow."""
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    before = len(await run.events())
    for _ in range(3):
        await run.refusal("review", {"revision": 9, "decision": "approve"})
    assert len(await run.events()) == before


async def test_auto_accept_asks_nobody(runs: Runs) -> None:
    """A run that accepts its own plan says so in its hand-offs."""
    status = await runs.complete("What is the value?")
    assert any("accept" in handoff.reason or "accept" in handoff.sender for handoff in status.handoffs)
