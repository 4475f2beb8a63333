"""What one run must not see of another, and what a bug may not do to either."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio import activity
from temporalio.client import WorkflowExecutionStatus
from temporalio.testing import WorkflowEnvironment

from activities.reports import ReportActivities
from deer.models import (
    CoordinateRequest,
    DraftStep,
    HandOffDecision,
    Phase,
    PlanDraft,
    PlanReply,
    PlanRequest,
    StepType,
    Usage,
)
from deer.ports import PageReader
from deer.providers.files import FileStore
from tests.running import Runs, research_worker, worker_with
from tests.scripted import Json, ScriptedServices, plan_of, research_step
from tests.scripted.tokens import leaks_between, question_with_token, say_tokens


async def test_a_run_cites_nothing_of_the_run_before_it(runs: Runs, scripted: ScriptedServices) -> None:
    """Case M01: on one worker the second run has its own sources only, and reads again a page that both need."""
    shared = "/page/both"

    def results(query: str) -> list[Json]:
        own = "/page/first" if "subject-m1" in query or "first" in query else "/page/second"
        return [
            {"title": path, "url": scripted.url + path, "content": "the measured value of x"} for path in (shared, own)
        ]

    scripted.setup.results = results
    scripted.scripts["planner"] = plan_of(research_step("subject-m1"))
    first = await runs.complete("What is the first value?")
    scripted.scripts["planner"] = plan_of(research_step("subject-m2"))
    second = await runs.complete("What is the second value?")
    assert {source.url.removeprefix(scripted.url) for source in first.sources} == {shared, "/page/first"}
    assert {source.url.removeprefix(scripted.url) for source in second.sources} == {shared, "/page/second"}
    assert "subject-m1" not in scripted.log.calls("reporter")[1].text
    assert [call.path for call in scripted.log.calls("page")] == ["both", "both"]


async def test_runs_side_by_side_hear_nothing_of_each_other(runs: Runs, scripted: ScriptedServices) -> None:
    """Of five runs at once, each with tokens of its own, no request, report or record has those of another."""
    say_tokens(scripted, steps=1)
    started = {number: await runs.start(question_with_token(number), auto_accept=True) for number in range(5)}
    ends = await asyncio.gather(*(run.end(within_s=60) for run in started.values()))
    assert {status.phase for status in ends} == {Phase.COMPLETED}
    records = {number: await run.record() for number, run in started.items()}
    assert leaks_between(scripted, {n: record.model_dump_json() for n, record in records.items() if record}) == []


async def test_a_request_that_is_no_request_fails_at_once(runs: Runs) -> None:
    """Case T11: input that the workflow cannot use ends the run as failed with the reason, not in silent retries."""
    for request in ({}, {"question": ""}, {"question": "x", "max_steps": 0}, {"question": "x", "surprise": 1}):
        run = await runs.start_raw(request)
        assert await run.closed() == WorkflowExecutionStatus.FAILED


@activity.defn(name="coordinate")
async def coordinate_of_another_version(request: Json) -> Json:
    """Answers in a shape that this version's workflow cannot read."""
    return {"topics": 7}


@activity.defn(name="coordinate")
async def coordinate(request: CoordinateRequest) -> HandOffDecision:
    """Hands over."""
    return HandOffDecision(locale="en-US", topics=("a topic",), usage=Usage())


@activity.defn(name="write_plan")
async def write_plan_unchecked(request: PlanRequest) -> PlanReply:
    """A plan whose step depends on one that is not there, as if nothing had validated it."""
    step = DraftStep(title="T", description="D", step_type=StepType.RESEARCH, depends_on=(9,))
    return PlanReply(draft=PlanDraft(title="T", steps=(step,)), error=None, reply="", usage=Usage())


async def test_a_bug_in_a_workflow_ends_the_run_with_its_reason(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Case T11: an exception in workflow code fails the run with a reason and a record; no task is retried for ever."""
    store = FileStore(tmp_path)
    async with worker_with(server.client, [coordinate, write_plan_unchecked, *ReportActivities(store).all]) as worker:
        run = await Runs(server.client, worker.task_queue, store).start(look_around=False)
        assert await run.closed() == WorkflowExecutionStatus.FAILED
        status = await run.status()
        assert status.phase is Phase.FAILED
        assert status.reason
        assert "Traceback" not in status.reason
        assert await run.record() == status


async def test_a_result_of_another_version_fails_the_run(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """A result that the workflow cannot even decode fails the run in Temporal, instead of being retried for ever."""
    async with worker_with(server.client, [coordinate_of_another_version]) as worker:
        run = await Runs(server.client, worker.task_queue, FileStore(tmp_path)).start()
        assert await run.closed() == WorkflowExecutionStatus.FAILED


@pytest.fixture
async def uncached_runs(
    server: WorkflowEnvironment, scripted: ScriptedServices, pages: PageReader, tmp_path: Path
) -> AsyncIterator[Runs]:
    """Runs on a worker that replays every workflow from its history at each task."""
    async with research_worker(server.client, scripted, pages, tmp_path, forgetful=True) as started:
        yield started


async def test_a_run_is_the_same_when_every_task_replays_it(uncached_runs: Runs, scripted: ScriptedServices) -> None:
    """Without a cache of workflows a run with an edit, a judge and two rounds ends as with one."""
    run = await uncached_runs.start("What is the value?", max_rounds=2)
    await run.reach(Phase.AWAITING_REVIEW)
    await run.signal("edit", "also the cost")
    await run.reach(Phase.AWAITING_REVIEW)
    await run.approve()
    status = await run.end()
    assert status.phase is Phase.COMPLETED
    assert len({call.key for call in scripted.log.calls()}) == len(scripted.log)
