"""Commands against a server whose queue no worker polls."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.testing import WorkflowEnvironment

from deer.cli.asking import build_request
from deer.cli.following import Follower, Patience
from deer.cli.handles import TemporalRun
from deer.cli.starting import start_or_attach
from deer.errors import NoServer, NotFound, Refused
from deer.models import Phase
from deer.providers.files import FileStore
from tests.e2e.commands import Program
from tests.unit.cli.scripted_run import Shown

SAID_WITHIN_SECONDS = 5.0


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """The store of a deployment without worker."""
    return FileStore(tmp_path / "store")


@pytest.fixture
async def lonely(server: WorkflowEnvironment, store: FileStore) -> AsyncIterator[TemporalRun]:
    """A run that was started and that nobody works on, now or later."""
    started = await start_or_attach(server.client, store, f"lonely-{uuid4().hex[:8]}", build_request("Why?", {}))
    yield started.run
    if (await started.run.standing()).is_open:
        await server.client.get_workflow_handle(started.run.id).terminate()


async def test_a_follower_says_so_within_five_seconds(lonely: TemporalRun) -> None:
    """Nobody answers: that is said within five seconds, with the command that starts a worker."""
    said_after: list[float] = []

    class Watch(Shown):
        def show_warning(self, text: str) -> None:
            super().show_warning(text)
            said_after.append(time.monotonic() - began)

    watch = Watch()
    began = time.monotonic()
    with pytest.raises(NoServer, match="start one"):
        await Follower(lonely, "start one", Patience(without_answer=1)).until_stop(watch)
    assert "no worker" in watch.warnings[0]
    assert said_after[0] < SAID_WITHIN_SECONDS


async def test_temporal_tells_question_and_phase_of_a_lonely_run(
    lonely: TemporalRun, server: WorkflowEnvironment
) -> None:
    """Question, phase and request are known before any worker has seen the run."""
    standing = await lonely.standing()
    assert (standing.is_open, standing.phase, standing.question) == (True, Phase.COORDINATING, "Why?")
    description = await server.client.get_workflow_handle(lonely.id).describe()
    assert await description.static_summary() == "Deep research: Why?"


async def test_a_name_is_refused_to_another_request(
    lonely: TemporalRun, server: WorkflowEnvironment, store: FileStore
) -> None:
    """Whoever asks the same attaches; whoever asks something else, or otherwise, is refused."""
    assert not (await start_or_attach(server.client, store, lonely.id, build_request("Why?", {}))).is_new
    for other in (build_request("How?", {}), build_request("Why?", {"auto_accept": True})):
        with pytest.raises(Refused, match="already in use"):
            await start_or_attach(server.client, store, lonely.id, other)


async def test_a_terminated_run_is_failed_with_the_reason(lonely: TemporalRun, server: WorkflowEnvironment) -> None:
    """A run that was ended in Temporal's own interface is over, and says by whom."""
    await server.client.get_workflow_handle(lonely.id).terminate()
    standing = await lonely.standing()
    assert (standing.is_open, standing.phase, standing.ended_by) == (
        *(False, Phase.FAILED, "the run was terminated in Temporal"),
    )


async def test_research_is_refused_at_once_and_starts_nothing(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Without a worker `research` ends with 5 and the command that starts one, and leaves no run behind."""
    address = server.client.service_client.config.target_host
    program = Program(tmp_path, {"TEMPORAL_ADDRESS": address, "DEER_STORE": str(tmp_path / "store")})
    ran = await asyncio.to_thread(program.run, "research", "Why?", "--id", "never-started", "--json")
    assert (ran.code, ran.out) == (5, "")
    assert "no worker" in ran.error
    assert "uv run worker.py" in ran.error
    with pytest.raises(NotFound):
        await TemporalRun(server.client, "never-started").standing()
