"""A run keeps to its budget: what is spent, by whom, what is left out and what the reader is told of it."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.testing import WorkflowEnvironment

from deer.models import Kind, Phase, StepStatus
from deer.ports import PageReader
from tests.eventually import always, eventually
from tests.running import Run, Runs, research_worker
from tests.scripted import (
    Call,
    Failure,
    ScriptedServices,
    Text,
    ToolCall,
    ToolCalls,
    analysis_step,
    call_tool,
    plan_of,
    research_step,
    subject_of,
)
from tests.scripted.replies import Answer
from tests.scripted.roles import finding, shown_pages
from tests.workflow.test_controls import caught, control, statuses

CALL_TOKENS = 120
BEFORE_RESEARCH = 2 * CALL_TOKENS
"""Coordinator and planner."""
DAY_S = 86_400


def tireless(call: Call) -> Answer:
    """Searches for something else in every turn."""
    return call_tool("web_search", query=f"{subject_of(call)} view {call.rounds}")


def for_rounds(rounds: int) -> Callable[[Call], Answer]:
    """Searches so many rounds, then submits a finding."""
    return lambda call: tireless(call) if call.rounds < rounds else finding(call)


def several_at_once(call: Call) -> Answer:
    """Four searches in one turn, four pages in the next, then a finding."""
    if call.rounds == 0:
        return ToolCalls(tuple(ToolCall("web_search", {"query": f"subject-q{n}"}) for n in range(4)))
    if call.rounds == 1:
        return ToolCalls(tuple(ToolCall("read_page", {"url": url}) for url in sorted(set(shown_pages(call)))[:4]))
    return finding(call)


async def signals(run: Run) -> Counter[str]:
    """How often each signal stands in the histories of a run and its steps."""
    counted: Counter[str] = Counter()
    for run_id in [run.id, *[name async for name, _ in run.histories()][1:]]:
        history = await run.client.get_workflow_handle(run_id).fetch_history()
        counted.update(
            event.workflow_execution_signaled_event_attributes.signal_name
            for event in history.events
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
        )
    return counted


async def test_parallel_steps_overshoot_by_a_call_each_at_most(runs: Runs, scripted: ScriptedServices) -> None:
    """Four tireless steps use what research may and hardly more, asking a few times; the report has its reserve."""
    steps = [research_step(f"subject-{name}1") for name in "abcd"]
    scripted.scripts["planner"] = plan_of(*steps, analysis_step())
    scripted.scripts["researcher"] = tireless
    budget = 4_000
    run = await runs.start(auto_accept=True, max_turns=100, max_rounds=2, budget={"tokens": budget})
    status = await run.end()
    researched = scripted.log.count("researcher") * CALL_TOKENS
    for_research = budget * 85 // 100 - BEFORE_RESEARCH
    assert for_research <= researched < for_research + 4 * CALL_TOKENS
    assert [scripted.log.count(role) for role in ("analyst", "judge", "reporter")] == [0, 0, 1]
    assert status.budget[Kind.TOKENS].used == status.usage.input_tokens + status.usage.output_tokens <= budget
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert status.plan
    reasons = {step.reason for step in status.plan.steps}
    assert reasons == {"the budget of 4,000 tokens is spent but for what the report needs"}
    assert [step.status for step in status.plan.steps] == [StepStatus.DONE] * 4 + [StepStatus.SKIPPED]
    assert status.report
    assert "“Compare” was left out: the budget of 4,000 tokens is spent" in status.report.markdown
    assert "“Look at subject-a1” was ended before it was done" in status.report.markdown
    assert "Whether the findings are enough was not asked" in status.report.markdown
    sent = await signals(run)
    assert 4 <= sent["report"] == sent["command"] < researched / CALL_TOKENS, sent


async def test_an_unlimited_run_sends_no_lease(runs: Runs, scripted: ScriptedServices) -> None:
    """Without a budget no step and no parent sends the other anything."""
    scripted.scripts["researcher"] = for_rounds(6)
    run = await runs.start(auto_accept=True)
    status = await run.end()
    assert (status.phase, status.budget) == (Phase.COMPLETED, {})
    assert not await signals(run)


async def test_the_reserve_is_the_reporters_whatever_the_steps_took(runs: Runs, scripted: ScriptedServices) -> None:
    """A last call far beyond the limit costs the reporter nothing; only its own reserve bounds how often it goes on."""
    scripted.scripts["reporter"] = Text("# Report\n\nFacts [s1-1].", finish_reason="length")
    status = await runs.complete(budget={"tokens": 300})
    assert scripted.log.count("reporter") == 1
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert status.report
    assert "the budget of 300 tokens is spent" in status.report.markdown
    assert "Facts" in status.report.markdown


async def test_lookups_of_one_turn_stay_within_their_limits_together(
    server: WorkflowEnvironment,
    services: ScriptedServices,
    scripted: ScriptedServices,
    pages: PageReader,
    tmp_path: Path,
) -> None:
    """Of several asked for at once those are made that are left, also where the worker restarts all the time."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    scripted.scripts["researcher"] = several_at_once
    async with research_worker(server.client, services, pages, tmp_path, forgetful=True) as forgetful:
        status = await forgetful.complete(budget={"searches": 3, "pages": 2})
    assert (scripted.log.count("search"), scripted.log.count("page")) == (3, 2)
    told = scripted.log.text("researcher")
    assert "not made: the budget of 3 searches is spent" in told
    assert "not made: the budget of 2 pages is spent" in told
    assert (status.usage.searches, status.usage.pages) == (3, 2)
    assert status.phase is Phase.COMPLETED
    assert status.report
    assert "Not all was looked up that was wanted: the budget of 2 pages is spent." in status.report.markdown


async def test_a_search_that_failed_costs_nothing_of_the_budget(runs: Runs, scripted: ScriptedServices) -> None:
    """What a refused search would have used is there for the next."""
    scripted.fail("search", Failure(400, {"detail": {"error": "scripted refusal"}}))
    scripted.scripts["researcher"] = for_rounds(3)
    status = await runs.complete(budget={"searches": 2}, look_around=False)
    assert status.usage.searches == 2
    assert status.phase is Phase.COMPLETED


async def test_without_searches_only_those_steps_start_that_can_do_without(
    runs: Runs, scripted: ScriptedServices
) -> None:
    """A step that must search is left out when none is left; others are done and told what is missing."""
    scripted.scripts["planner"] = plan_of(
        research_step("subject-a1"), research_step("subject-b2", need_search=False), analysis_step()
    )
    scripted.scripts["researcher"] = finding
    status = await runs.complete(budget={"searches": 0})
    assert scripted.log.count("search") == 0
    skipped, done = StepStatus.SKIPPED, StepStatus.DONE
    assert statuses(status) == {"s1": skipped, "s2": done, "s3": done}
    assert status.plan
    assert status.plan.steps[0].reason == "the budget of 0 searches is spent"
    assert "the budget of 0 searches is spent" in scripted.log.text("analyst")
    assert status.phase is Phase.COMPLETED_WITH_GAPS


async def test_a_raised_budget_gives_work_back(runs: Runs, scripted: ScriptedServices) -> None:
    """A step waits while another may still return its lease; a higher limit reaches it at once, and steps not begun."""
    steps = [research_step(f"subject-{name}1") for name in "abc"]
    scripted.scripts["planner"] = plan_of(*steps)
    scripted.scripts["researcher"] = for_rounds(9)
    gate = scripted.hold("researcher", where=lambda call: "subject-b1" in call.text)
    run = await runs.start(auto_accept=True, max_parallel_steps=2, budget={"tokens": 1_200})
    await caught(gate)

    def waits() -> bool:
        return len(scripted.log.open()) == 1 and scripted.log.count("researcher") > 4

    await eventually(waits, "a step that waits for its lease")
    await always(waits, "its waiting", for_s=0.5)
    assert statuses(await run.status())["s1"] is StepStatus.RUNNING
    assert "no limit" not in await run.refusal("control", {"action": "budget", "budget": {"tokens": 0}})
    assert "say which limits" in await run.refusal("control", {"action": "budget"})
    assert "the budget is now 90,000 tokens" in await control(run, "budget", budget={"tokens": 90_000})
    gate.open()
    status = await run.end()
    assert status.phase is Phase.COMPLETED
    assert scripted.log.count("researcher") == 30
    assert status.budget[Kind.TOKENS].limit == 90_000


async def test_a_first_limit_in_mid_run_counts_what_was_spent_before_it(runs: Runs, scripted: ScriptedServices) -> None:
    """One step searched twelve times before there was a limit of thirteen: the other is given one, not a share."""

    def searches(call: Call) -> Answer:
        count = 12 if "subject-a1" in call.text else 3
        wishes = (ToolCall("web_search", {"query": f"{subject_of(call)} view {n}"}) for n in range(count))
        return ToolCalls(tuple(wishes)) if call.rounds == 0 else finding(call)

    scripted.scripts["planner"] = plan_of(research_step("subject-a1"), research_step("subject-b1"))
    scripted.scripts["researcher"] = searches
    first = scripted.hold("researcher", where=lambda call: call.rounds == 1 and "subject-a1" in call.text)
    second = scripted.hold("researcher", where=lambda call: call.rounds == 0 and "subject-b1" in call.text)
    run = await runs.start(auto_accept=True, look_around=False)
    for gate in (first, second):
        await caught(gate)
    await control(run, "budget", budget={"searches": 13})
    for gate in (second, first):
        gate.open()
    status = await run.end()
    assert scripted.log.count("search") == status.usage.searches == 13
    assert any("budget of 13 searches is spent" in notice for notice in status.notices)


async def test_a_lowered_budget_ends_steps_at_their_next_call(runs: Runs, scripted: ScriptedServices) -> None:
    """What steps were given before does not last longer than a limit that a person set since."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"), research_step("subject-b1"))
    scripted.scripts["researcher"] = tireless
    gate = scripted.hold("researcher", nth=3)
    run = await runs.start(auto_accept=True, budget={"tokens": 1_000_000, "pages": 9})
    await caught(gate, 2)
    await control(run, "budget", budget={"tokens": 600})
    gate.open()
    status = await run.end()
    assert scripted.log.count("researcher") == 4
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert {kind: spent.limit for kind, spent in status.budget.items()} == {Kind.TOKENS: 600, Kind.PAGES: 9}


async def test_money_without_prices_is_told_once(runs: Runs, scripted: ScriptedServices) -> None:
    """A model without a price does not count, and the reader is told so in one notice for all roles."""
    status = await runs.complete(budget={"usd": 0.01})
    assert status.phase is Phase.COMPLETED
    assert [notice for notice in status.notices if "price" in notice] == [
        "No price is set for model scripted, so its cost does not count in the budget of USD."
    ]


async def test_money_ends_research(
    server: WorkflowEnvironment,
    services: ScriptedServices,
    scripted: ScriptedServices,
    pages: PageReader,
    tmp_path: Path,
) -> None:
    """With prices a limit in USD holds as one in tokens does, and its reserve pays for the report."""
    scripted.scripts["researcher"] = tireless
    async with research_worker(
        server.client, services, pages, tmp_path, BASIC_MODEL__INPUT_PRICE="2.5", BASIC_MODEL__OUTPUT_PRICE="10"
    ) as priced:
        status = await priced.complete(budget={"usd": 0.0045})
    assert scripted.log.count("researcher") == 7  # of the ten calls of 0.00045 USD, 8.5 without the reserve
    assert scripted.log.count("reporter") == 1
    assert status.plan
    assert status.plan.steps[0].reason == "the budget of 0.0045 USD is spent but for what the report needs"


async def test_minutes_end_the_steps_at_work(runs: Runs, scripted: ScriptedServices) -> None:
    """When the time for research is over, calls in flight end, no other begins, and waiting steps are left out."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"), research_step("subject-b1"))
    gate = scripted.hold("researcher", nth=2)
    run = await runs.start(auto_accept=True, max_parallel_steps=1, budget={"minutes": 60})
    await caught(gate)
    used_s = (await run.status()).budget[Kind.MINUTES].used * 60
    await control(run, "budget", budget={"minutes": (used_s + 2) / 60 / 0.85})
    entries = await eventually(lambda: _told_to_end(run), "the end of the time for research")
    assert entries
    gate.open()
    status = await run.end()
    assert scripted.log.count("researcher") == 2
    assert statuses(status) == {"s1": StepStatus.DONE, "s2": StepStatus.SKIPPED}
    assert status.plan
    assert all("minutes is spent" in (step.reason or "") for step in status.plan.steps)
    assert status.phase is Phase.COMPLETED_WITH_GAPS


async def _told_to_end(run: Run) -> bool:
    page = await run.client.get_workflow_handle(f"{run.id}/s1/1").query("progress", "")
    return any("wind down" in entry["text"] for entry in page["entries"])


@pytest.fixture
async def skipping_runs(
    skipping_server: WorkflowEnvironment,
    services: ScriptedServices,
    scripted: ScriptedServices,
    pages: PageReader,
    tmp_path: Path,
) -> AsyncIterator[Runs]:
    """Runs whose waiting takes no time."""
    async with research_worker(skipping_server.client, services, pages, tmp_path) as started:
        yield started


async def test_waiting_for_a_person_takes_no_minutes(skipping_runs: Runs) -> None:
    """A plan that waits a day costs nothing of ten minutes."""
    run = await skipping_runs.start(review_deadline=DAY_S, review_deadline_policy="accept", budget={"minutes": 10})
    status = await run.end()
    assert status.phase is Phase.COMPLETED
    assert (status.handoffs[-1].at - status.handoffs[0].at).total_seconds() > DAY_S / 2
    assert 0 < status.budget[Kind.MINUTES].used < 5
