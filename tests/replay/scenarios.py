"""One run for each way through the flow, under a fixed id, so that its history can be kept and replayed."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from deer import flow
from deer.models import Phase
from tests.eventually import eventually
from tests.running import Run, Runs
from tests.scripted import (
    REFUSED_KEY,
    Call,
    Failure,
    Gate,
    ScriptedServices,
    analysis_step,
    call_tool,
    plan_of,
    research_step,
    subject_of,
)
from tests.scripted.replies import Answer
from tests.scripted.roles import SHOWN_SOURCE, finding, researcher, tool_text

Scenario = Callable[[Runs, ScriptedServices], Awaitable[Run]]
"""Brings a run to where its history is to be taken."""

TWO_ANGLES = plan_of(research_step("subject-a1"), research_step("subject-b1"), analysis_step())
QUESTION = "What is the value?"


async def held_at(gate: Gate) -> None:
    """Wait until a gate holds a call."""
    await eventually(lambda: bool(gate.caught), "the held call")


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
    await held_at(gate)
    return run


async def reporting(runs: Runs, services: ScriptedServices) -> Run:
    """While the reporter writes."""
    gate = services.hold("reporter")
    run = await runs.start(QUESTION, run_id="reporting", auto_accept=True)
    await held_at(gate)
    return run


async def paused(runs: Runs, services: ScriptedServices) -> Run:
    """Paused while its first step is at work, and resumed."""
    gate = services.hold("researcher", nth=2)
    run = await runs.start(QUESTION, run_id="paused", auto_accept=True)
    await held_at(gate)
    await run.signal("control", "pause")
    await run.recorded(Phase.PAUSED)
    gate.open()
    await run.update("control", {"action": "resume"})
    await run.end()
    return run


async def pausing(runs: Runs, services: ScriptedServices) -> Run:
    """Paused with an approved plan, of which nothing has begun."""
    run = await runs.start(QUESTION, run_id="pausing", review_deadline=86_400)
    await run.reach(Phase.AWAITING_REVIEW)
    await run.update("control", {"action": "pause"})
    await run.update("review", {"revision": 1, "decision": "approve"})
    await run.recorded(Phase.PAUSED)
    return run


async def step_skipped(runs: Runs, services: ScriptedServices) -> Run:
    """A step at work is skipped, and a waiting one too."""
    services.scripts["planner"] = TWO_ANGLES
    gate = services.hold("researcher", where=lambda call: "subject-a1" in call.text)
    run = await runs.start(QUESTION, run_id="step_skipped", auto_accept=True, max_parallel_steps=1)
    await held_at(gate)
    await run.update("control", {"action": "skip", "step_id": "s2"})
    await run.update("control", {"action": "skip", "step_id": "s1"})
    await run.end()
    return run


async def finished_early(runs: Runs, services: ScriptedServices) -> Run:
    """A step is told to end with what it has, and another is never begun."""
    gate = services.hold("researcher", nth=2)
    run = await runs.start(QUESTION, run_id="finished_early", auto_accept=True)
    await held_at(gate)
    await run.signal("control", {"action": "finish"})
    await run.refusal("control", {"action": "finish"})  # by its answer the signal has been taken
    gate.open()
    await run.end()
    return run


async def tried_again(runs: Runs, services: ScriptedServices) -> Run:
    """A failed step is done once more, asked for while the judge thinks."""
    services.scripts["planner"] = plan_of(research_step("subject-a1"))
    services.fail("researcher", Failure(400, {"error": {"message": "scripted refusal"}}))
    gate = services.hold("judge")
    run = await runs.start(QUESTION, run_id="tried_again", auto_accept=True, max_rounds=2)
    await held_at(gate)
    await run.update("control", {"action": "retry", "step_id": "s1"})
    gate.open()
    await run.end()
    return run


async def step_added(runs: Runs, services: ScriptedServices) -> Run:
    """A person adds a step while another is at work."""
    services.scripts["planner"] = plan_of(research_step("subject-a1"))
    gate = services.hold("researcher")
    run = await runs.start(QUESTION, run_id="step_added", auto_accept=True)
    await held_at(gate)
    await run.update("control", {"action": "add_step", "step": {"title": "Compare", "step_type": "analysis"}})
    gate.open()
    await run.end()
    return run


async def budgeted(runs: Runs, services: ScriptedServices) -> Run:
    """Two steps ask for more of a budget of tokens and minutes than their first lease, and come to its end."""
    services.scripts["planner"] = plan_of(research_step("subject-a1"), research_step("subject-b1"))
    services.scripts["researcher"] = lambda call: call_tool("web_search", query=f"{subject_of(call)} {call.rounds}")
    run = await runs.start(QUESTION, run_id="budgeted", auto_accept=True, budget={"tokens": 1_500, "minutes": 60})
    await run.end()
    return run


async def renewed(runs: Runs, services: ScriptedServices) -> Run:
    """Continued as new while its plan waits: the history is the last, with the state of the one before as input."""
    run = await runs.start(QUESTION, run_id="renewed", continue_after_events=50)
    await run.reach(Phase.AWAITING_REVIEW)
    first = (await run.handle.describe()).run_id
    for _ in range(40):
        await run.signal("approve", {"revision": 99})

    async def look() -> bool:
        return (await run.handle.describe()).run_id != first

    await eventually(look, "a second history")
    await run.approve()
    await run.end()
    return run


async def forked(runs: Runs, services: ScriptedServices) -> Run:
    """A fork from the second step of a run that has ended."""
    before = await runs.start(QUESTION, run_id="forked_from", auto_accept=True)
    await before.end()
    state = await before.state()
    run = await runs.go_on(flow.forked(state, "s2", "forked", state.request, datetime.now(UTC)))
    await run.end()
    return run


async def followed_up(runs: Runs, services: ScriptedServices) -> Run:
    """A question after a report, as far as its plan."""
    before = await runs.start(QUESTION, run_id="followed_up_on", auto_accept=True)
    await before.end()
    run = await runs.start("And then?", run_id="followed_up", after=before.id)
    await run.reach(Phase.AWAITING_REVIEW)
    return run


async def sent_back(runs: Runs, services: ScriptedServices) -> Run:
    """A finding whose quote does not stand in its source, and its writer mends it."""

    def script(call: Call) -> Answer:
        if call.rounds < 2:
            return researcher(call)
        return finding(call) if "not taken yet" in call.text else misquoted(call)

    services.scripts["planner"] = plan_of(research_step("subject-a1"))
    services.scripts["researcher"] = script
    run = await runs.start(QUESTION, run_id="sent_back", auto_accept=True)
    await run.end()
    return run


def misquoted(call: Call) -> Answer:
    """A finding on the first source that the call shows, with a quote of nobody's."""
    source_id = SHOWN_SOURCE.findall(tool_text(call))[0]
    claims = [{"text": "It is so.", "source_id": source_id, "quote": "words that nobody wrote"}]
    return call_tool("submit_finding", summary="Looked up.", claims=claims)


async def attention_deadline(runs: Runs, services: ScriptedServices) -> Run:
    """Nobody mends a search in time, first the run's own, then one of its step: both go on without."""
    services.scripts["planner"] = plan_of(research_step("subject-a1"))
    services.scripts["researcher"] = lambda call: (
        call_tool("web_search", query="subject-a1") if call.rounds == 0 else finding(call)
    )
    services.fail("search", REFUSED_KEY, times=2)
    run = await runs.start(QUESTION, run_id="attention_deadline", auto_accept=True, attention_deadline=1.0)
    await run.end()
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
        paused,
        pausing,
        step_skipped,
        finished_early,
        tried_again,
        step_added,
        budgeted,
        renewed,
        forked,
        followed_up,
        attention_deadline,
        sent_back,
    )
}
