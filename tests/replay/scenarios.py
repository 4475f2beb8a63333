"""One run for each way through the flow, under a fixed id, so that its history can be kept and replayed."""

from collections.abc import Awaitable, Callable

from deer.models import Phase
from tests.eventually import eventually
from tests.running import Run, Runs
from tests.scripted import REFUSED_KEY, Failure, ScriptedServices, analysis_step, call_tool, plan_of, research_step

Scenario = Callable[[Runs, ScriptedServices], Awaitable[Run]]
"""Brings a run to where its history is to be taken."""

TWO_ANGLES = plan_of(research_step("subject-a1"), research_step("subject-b1"), analysis_step())
QUESTION = "What is the value?"


async def approved(runs: Runs, services: ScriptedServices) -> Run:
    """A plan of three steps that a person approves by signal."""
    services.scripts["planner"] = TWO_ANGLES
    run = await runs.start(QUESTION, run_id="approved")
    await run.approve()
    await run.end()
    return run


async def edited(runs: Runs, services: ScriptedServices) -> Run:
    """A plan that is edited by words and by plan, with refused messages in between, before it is approved."""
    run = await runs.start(QUESTION, run_id="edited")
    await run.reach(Phase.AWAITING_REVIEW)
    await run.signal("edit", "compare the cost too")
    await run.reach_revision(2)
    await run.signal("approve", {"revision": 1})
    await run.refusal("review", {"revision": 1, "decision": "approve"})
    step = {"title": "Only this", "description": "Only subject-k77", "step_type": "research", "need_search": True}
    await run.update("review", {"revision": 2, "decision": "edit", "plan": {"title": "Edited", "steps": [step]}})
    await run.update("review", {"revision": 3, "decision": "approve", "reviewer": "ada"})
    await run.end()
    return run


async def answered(runs: Runs, services: ScriptedServices) -> Run:
    """Small talk."""
    services.scripts["coordinator"] = call_tool("direct_response", message="Hello!", locale="en-US")
    run = await runs.start("Hi", run_id="answered")
    await run.end()
    return run


async def clarified(runs: Runs, services: ScriptedServices) -> Run:
    """Asked back twice, with a refused answer on the way, before the plan."""
    services.scripts["coordinator"] = [
        call_tool("ask_clarification", question="For whom?", options=["children", "readers of maps"]),
        call_tool("ask_clarification", question="Since when?", options=[]),
        call_tool("handoff_to_planner", research_topic="the value", locale="en-US"),
    ]
    run = await runs.start(QUESTION, run_id="clarified", auto_accept=True, max_clarification_rounds=2)
    await run.reach(Phase.CLARIFYING)
    await run.signal("answer", "  ")
    await run.signal("answer", "children")
    await eventually(lambda: services.log.count("coordinator") == 2, "the second question")
    await run.reach(Phase.CLARIFYING)
    await run.update("answer", {"text": "since 2001"})
    await run.end()
    return run


async def clarifying(runs: Runs, services: ScriptedServices) -> Run:
    """A question waits for its answer."""
    services.scripts["coordinator"] = call_tool("ask_clarification", question="For whom?", options=[])
    run = await runs.start(QUESTION, run_id="clarifying", max_clarification_rounds=3)
    await run.reach(Phase.CLARIFYING)
    return run


async def auto_accepted(runs: Runs, services: ScriptedServices) -> Run:
    """Two rounds, each of whose plans is accepted by itself."""
    services.scripts["judge"] = call_tool("revise_plan", steps=[research_step("subject-r2")], reason="one is missing")
    run = await runs.start(QUESTION, run_id="auto_accepted", auto_accept=True, max_rounds=2)
    await run.end()
    return run


async def cancelled_while_waiting(runs: Runs, services: ScriptedServices) -> Run:
    """Cancelled by a person in front of the plan."""
    run = await runs.start(QUESTION, run_id="cancelled_while_waiting")
    await run.reach(Phase.AWAITING_REVIEW)
    await run.handle.cancel()
    await run.closed()
    return run


async def failed(runs: Runs, services: ScriptedServices) -> Run:
    """The planner never writes a plan."""
    services.scripts["planner"] = "1. Look around\n2. Compare"
    run = await runs.start(QUESTION, run_id="failed")
    await run.closed()
    return run


async def step_failed(runs: Runs, services: ScriptedServices) -> Run:
    """The researcher's calls are refused; the analyst and the report go on without."""
    services.fail("researcher", Failure(400, {"error": {"message": "scripted refusal"}}), times=9)
    run = await runs.start(QUESTION, run_id="step_failed", auto_accept=True)
    await run.end()
    return run


async def needs_attention(runs: Runs, services: ScriptedServices) -> Run:
    """Held in a step by a refused key."""
    services.fail("researcher", REFUSED_KEY)
    run = await runs.start(QUESTION, run_id="needs_attention", auto_accept=True)
    await run.reach(Phase.NEEDS_ATTENTION)
    return run


async def waiting(runs: Runs, services: ScriptedServices) -> Run:
    """A plan waits."""
    run = await runs.start(QUESTION, run_id="waiting")
    await run.reach(Phase.AWAITING_REVIEW)
    return run


async def mid_step(runs: Runs, services: ScriptedServices) -> Run:
    """In the third turn of the second of three steps."""
    services.scripts["planner"] = TWO_ANGLES
    gate = services.hold("researcher", where=lambda call: "subject-b1" in call.text and call.rounds == 2)
    run = await runs.start(QUESTION, run_id="mid_step", auto_accept=True)
    await eventually(lambda: bool(gate.caught), "the third turn")
    return run


async def reporting(runs: Runs, services: ScriptedServices) -> Run:
    """While the reporter writes."""
    gate = services.hold("reporter")
    run = await runs.start(QUESTION, run_id="reporting", auto_accept=True)
    await eventually(lambda: bool(gate.caught), "the reporter's call")
    return run


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        approved,
        edited,
        answered,
        clarified,
        clarifying,
        auto_accepted,
        cancelled_while_waiting,
        failed,
        step_failed,
        needs_attention,
        waiting,
        mid_step,
        reporting,
    )
}
