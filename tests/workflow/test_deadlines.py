"""A review that nobody answers, with a clock that jumps."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.testing import WorkflowEnvironment

from deer.models import Phase
from deer.ports import PageReader
from tests.running import Runs, research_worker
from tests.scripted import ScriptedServices

DAY_S = 86_400


@pytest.fixture(scope="module")
async def skipping_worker(
    skipping_server: WorkflowEnvironment,
    services: ScriptedServices,
    pages: PageReader,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Runs]:
    """A worker for workflows whose waiting takes no time."""
    directory = tmp_path_factory.mktemp("skipping")
    async with research_worker(skipping_server.client, services, pages, directory) as started:
        yield started


@pytest.fixture
async def skipping_runs(skipping_worker: Runs, scripted: ScriptedServices) -> AsyncIterator[Runs]:
    """Runs whose waiting takes no time."""
    async with skipping_worker.of_one_test() as started:
        yield started


async def test_a_deadline_can_accept_the_plan(skipping_runs: Runs) -> None:
    """After a day without an answer the plan is taken, and the hand-off says why."""
    run = await skipping_runs.start("What is the value?", review_deadline=DAY_S, review_deadline_policy="accept")
    assert await run.closed() == WorkflowExecutionStatus.COMPLETED
    status = await run.status()
    assert status.phase is Phase.COMPLETED
    assert any("deadline" in handoff.reason for handoff in status.handoffs)


async def test_a_deadline_can_cancel_the_run(skipping_runs: Runs, scripted: ScriptedServices) -> None:
    """With the policy `cancel` the run ends cancelled, with the deadline as its reason and without any research."""
    run = await skipping_runs.start("What is the value?", review_deadline=DAY_S, review_deadline_policy="cancel")
    assert await run.closed() == WorkflowExecutionStatus.CANCELED
    status = await run.status()
    assert status.phase is Phase.CANCELLED
    assert "deadline" in (status.reason or "")
    assert scripted.log.count("researcher") == 0
    assert await run.record() == status


async def test_an_answer_before_the_deadline_counts(skipping_server: WorkflowEnvironment, skipping_runs: Runs) -> None:
    """A plan that is approved in time does not wait for its deadline."""
    with skipping_server.with_time_skipping_disabled():
        run = await skipping_runs.start("What is the value?", review_deadline=DAY_S, review_deadline_policy="cancel")
    await run.approve()
    assert (await run.end()).phase is Phase.COMPLETED
