"""What every test can ask for: scripted services, real Temporal servers, a worker, and runs on it.

Without a `temporal` binary the tests that need it are skipped, unless DEER_REQUIRE names it: then they fail.
"""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from deer.ports import PageReader
from tests.running import Runs, page_reader, research_worker, start_server, start_skipping_server, temporal_binary
from tests.scripted import ScriptedServices


def skip_or_fail(requirement: str, why: str) -> None:
    """Skip the test for want of something, or fail it where DEER_REQUIRE (names, with commas) insists on it."""
    if requirement in os.environ.get("DEER_REQUIRE", "").split(","):
        pytest.fail(f"{why}, and DEER_REQUIRE insists on {requirement}")
    pytest.skip(why)


@pytest.fixture
def scripted() -> Iterator[ScriptedServices]:
    """Scripted model, search and pages of this test; a client that broke the message order fails it."""
    with ScriptedServices() as services:
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


@pytest.fixture
async def runs(
    server: WorkflowEnvironment, scripted: ScriptedServices, pages: PageReader, tmp_path: Path
) -> AsyncIterator[Runs]:
    """Runs on a worker of this test, which asks the scripted services."""
    async with research_worker(server.client, scripted, pages, tmp_path) as started:
        yield started
