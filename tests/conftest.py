"""What every test can ask for: scripted services, real Temporal servers, a worker, and runs on it.

Without a `temporal` binary the tests that need it are skipped, unless DEER_REQUIRE names it: then they fail.
"""

import os
from collections.abc import AsyncIterator, Iterator

import pytest
from temporalio.testing import WorkflowEnvironment

from deer.cli.interrupts import end_process
from deer.ports import PageReader
from tests.running import (
    BucketServer,
    Runs,
    bucket_server,
    page_reader,
    research_worker,
    start_server,
    start_skipping_server,
    temporal_binary,
)
from tests.scripted import ScriptedServices

_EXIT_CODE = pytest.StashKey[int]()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remember what the session came to."""
    session.config.stash[_EXIT_CODE] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave without taking the interpreter down: Temporal's SDK may crash in that and turn a passed session red."""
    if _EXIT_CODE in config.stash:
        end_process(config.stash[_EXIT_CODE])


def skip_or_fail(requirement: str, why: str) -> None:
    """Skip the test for want of something, or fail it where DEER_REQUIRE (names, with commas) insists on it."""
    if requirement in os.environ.get("DEER_REQUIRE", "").split(","):
        pytest.fail(f"{why}, and DEER_REQUIRE insists on {requirement}")
    pytest.skip(why)


@pytest.fixture(scope="session")
def services() -> Iterator[ScriptedServices]:
    """Scripted model, search and pages, at one address for the whole session."""
    with ScriptedServices() as listening:
        yield listening


@pytest.fixture(scope="session")
def buckets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BucketServer]:
    """A server that speaks S3, for all tests of the session."""
    with bucket_server(tmp_path_factory.mktemp("buckets")) as listening:
        yield listening


@pytest.fixture
def scripted(services: ScriptedServices) -> Iterator[ScriptedServices]:
    """The scripted services as a test finds them: usual scripts, empty log.

    A client that broke the order of messages fails its test.
    """
    services.reset()
    yield services
    assert services.complaints == []


@pytest.fixture(scope="session")
def temporal() -> str:
    """Path of the `temporal` binary."""
    if binary := temporal_binary():
        return binary
    skip_or_fail("temporal", "no temporal binary is installed")
    raise AssertionError("skip_or_fail does not return")


@pytest.fixture(scope="session")
async def server(temporal: str) -> AsyncIterator[WorkflowEnvironment]:
    """A real Temporal server for all tests of the session."""
    async with await start_server(temporal) as environment:
        yield environment


@pytest.fixture(scope="session")
async def skipping_server(temporal: str) -> AsyncIterator[WorkflowEnvironment]:
    """A real Temporal server whose workflows skip the time that they wait."""
    async with await start_skipping_server(temporal) as environment:
        yield environment


@pytest.fixture(scope="session")
async def pages() -> AsyncIterator[PageReader]:
    """The reader of pages for all workers of the session."""
    async with page_reader() as reader:
        yield reader


@pytest.fixture(scope="session")
async def worker(
    server: WorkflowEnvironment,
    services: ScriptedServices,
    pages: PageReader,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Runs]:
    """One worker for all tests: starting one costs more than most tests do."""
    async with research_worker(server.client, services, pages, tmp_path_factory.mktemp("worker")) as started:
        yield started


@pytest.fixture
async def runs(worker: Runs, scripted: ScriptedServices) -> AsyncIterator[Runs]:
    """Runs on a worker that asks the scripted services; what a test leaves open ends with it."""
    async with worker.of_one_test() as started:
        yield started
