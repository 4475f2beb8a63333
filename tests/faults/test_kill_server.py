"""`kill -9` of the Temporal server, whose database is a file in the data directory: runs go on where they were."""

from collections.abc import AsyncIterator

import pytest

from deer.models import Phase
from deer.providers.files import FileStore
from deer.temporal import RESEARCH_QUEUE
from tests.eventually import eventually
from tests.faults.file_server import FileServer, file_server
from tests.faults.worker_process import WorkerProcess
from tests.running import Runs
from tests.scripted import ScriptedServices

pytestmark = [pytest.mark.process, pytest.mark.timeout(200)]


@pytest.fixture(scope="module")
async def server(temporal: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FileServer]:
    """A server with its database in a file, for the tests of this module."""
    async with file_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(scope="module")
async def worker(
    server: FileServer, services: ScriptedServices, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[WorkerProcess]:
    """A worker of the product for that server."""
    with WorkerProcess(server.address, services, tmp_path_factory.mktemp("worker")) as started:
        await started.until_ready()
        yield started


@pytest.fixture
async def runs(server: FileServer, worker: WorkerProcess, scripted: ScriptedServices) -> AsyncIterator[Runs]:
    """Runs on that server, which are ended with the test."""
    async with Runs(await server.client(), RESEARCH_QUEUE, FileStore(worker.store)).of_one_test() as started:
        yield started


async def test_a_run_goes_on_after_its_server_was_killed_in_a_step(
    server: FileServer, runs: Runs, scripted: ScriptedServices
) -> None:
    """Case T13: an answer that came while there was no server is recorded later, or asked for once more."""
    gate = scripted.hold("researcher", nth=2)
    run = await runs.start("What is the value?", auto_accept=True)
    await eventually(lambda: bool(gate.caught), "a call in a step")
    await server.kill()
    gate.open()
    await eventually(lambda: not scripted.log.open(), "the answer, with nobody to record it")
    await server.start_again()
    assert (await run.end(within_s=60)).phase is Phase.COMPLETED
    keys = [call.key for call in scripted.log.calls()]
    assert {key for key in keys if keys.count(key) > 1} <= {gate.caught[0].key}
    assert keys.count(gate.caught[0].key) <= 2


async def test_a_plan_still_waits_after_its_server_was_killed(
    server: FileServer, runs: Runs, scripted: ScriptedServices
) -> None:
    """Case T13: the plan that waited before waits afterwards, and its approval carries the run to its end."""
    run = await runs.start("What is the value?")
    before = await run.reach(Phase.AWAITING_REVIEW)
    await server.kill()
    await server.start_again()
    after = await run.reach(Phase.AWAITING_REVIEW)
    assert after.plan == before.plan
    await run.signal("approve")
    assert (await run.end(within_s=60)).phase is Phase.COMPLETED
    assert len({call.key for call in scripted.log.calls()}) == len(scripted.log)
