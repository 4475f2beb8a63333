"""worker.py as a process: it finds its server or says what is missing, and lets calls finish when it is stopped."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.api.workflowservice.v1 import ListWorkersRequest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from deer.config import Settings
from deer.providers.files import FileStore
from deer.temporal import RESEARCH_QUEUE, connect, has_poller
from tests.e2e.commands import CommandLine
from tests.e2e.programs import PATIENCE_S, Program, Programs
from tests.eventually import eventually
from tests.running import Runs, completed_activities
from tests.scripted import ScriptedServices

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]


@pytest.fixture
def programs(temporal: str, tmp_path: Path) -> Iterator[Programs]:
    """Programs on a data directory of this test."""
    with Programs(tmp_path / "data") as started:
        yield started


def said_ready(worker: Program) -> str:
    """The line by which a worker says that it is ready."""
    assert worker.stderr is not None
    line = worker.stderr.readline()
    assert line.startswith("worker ready"), line
    return line


def test_worker_without_any_server_says_so(programs: Programs) -> None:
    """With neither an address nor an embedded server worker.py exits 5 with one line that names the way out."""
    code, out, err = programs.run("worker.py")
    assert (code, out) == (5, "")
    assert len(err.splitlines()) == 1
    assert "uv run starter.py serve" in err
    assert programs.server is None


def test_worker_without_a_store_says_so(programs: Programs) -> None:
    """Outside embedded mode a worker without DEER_STORE exits 2 with one line that names it."""
    code, _, err = programs.run("worker.py", settings={"TEMPORAL_ADDRESS": "127.0.0.1:1"})
    assert code == 2
    assert len(err.splitlines()) == 1
    assert "DEER_STORE" in err


def test_worker_whose_store_cannot_be_written_says_so_before_it_works(programs: Programs, tmp_path: Path) -> None:
    """With a file where the store should be a worker exits 2 with one line, before it waits for its server."""
    (tmp_path / "file").touch()
    settings = {"TEMPORAL_ADDRESS": "127.0.0.1:1", "DEER_STORE": str(tmp_path / "file" / "store")}
    code, out, err = programs.run("worker.py", settings=settings)
    assert (code, out) == (2, "")
    assert "cannot be written" in err.splitlines()[-1]
    assert "DEER_STORE" in err.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments",
    [("research", "Why?", "--auto-accept"), ("research", "Why?", "--detach"), ("serve",)],
    ids=" ".join,
)
def test_a_store_that_cannot_be_written_is_said_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    programs: Programs,
    tmp_path: Path,
    arguments: tuple[str, ...],
) -> None:
    """With a file where the store should be, embedded mode exits 2 with one line; no server, no run."""
    (tmp_path / "file").touch()
    settings = {"DEER_STORE": str(tmp_path / "file" / "store"), "DEER_DATA_DIR": str(programs.data_dir)}
    ran = CommandLine(monkeypatch, capsys, settings).run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.error == ran.err.splitlines()[-1]  # after what the command line says of a run without a model
    assert "cannot be written" in ran.error
    assert "DEER_STORE" in ran.error
    assert programs.server is None


async def test_worker_waits_for_its_server_and_is_missed_when_it_is_killed(programs: Programs, tmp_path: Path) -> None:
    """A worker may be started before its server; killed, `has_poller` misses it though Temporal still lists it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    settings = {"TEMPORAL_ADDRESS": address, "DEER_STORE": str(tmp_path / "store")}
    worker = programs.start("worker.py", settings=settings)
    programs.start("starter.py", "server", "--port", address.rpartition(":")[2])
    line = said_ready(worker)
    assert f"{address}; namespace default; queue {RESEARCH_QUEUE}" in line
    assert "No language model is set" in line
    client = await connect(Settings(data_dir=programs.data_dir), address)

    await eventually(lambda: has_beaten(client), "the first heartbeat")
    assert await has_poller(client)
    os.killpg(worker.pid, signal.SIGKILL)
    worker.communicate()
    await eventually(lambda: is_missed(client), "the loss of a worker that was killed", within_s=10)


async def has_beaten(client: Client) -> bool:
    """Whether the server knows of a worker that is alive by more than its polls."""
    request = ListWorkersRequest(namespace=client.namespace, query=f"TaskQueue = '{RESEARCH_QUEUE}'")
    return len((await client.workflow_service.list_workers(request)).workers_info) > 0


async def is_missed(client: Client) -> bool:
    """Whether no worker is seen."""
    return not await has_poller(client)


async def test_worker_joins_the_embedded_server(programs: Programs) -> None:
    """Without an address worker.py works for the server that is recorded, as the worker that commands rely on."""
    server = programs.start("starter.py", "server")
    assert server.stdout is not None
    server.stdout.readline()
    worker = programs.start("worker.py")
    assert programs.server is not None
    assert programs.server.address in said_ready(worker)
    assert programs.server.has_worker
    worker.terminate()
    assert worker.wait(timeout=PATIENCE_S) == 0
    assert programs.server is not None


async def test_sigterm_lets_the_call_in_flight_finish(
    programs: Programs, server: WorkflowEnvironment, scripted: ScriptedServices, tmp_path: Path
) -> None:
    """SIGTERM during a model call: the worker exits 0 once it is answered, and Temporal has the answer."""
    settings = {
        **scripted.environment(),
        "TEMPORAL_ADDRESS": server.client.service_client.config.target_host,
        "DEER_STORE": str(tmp_path / "store"),
    }
    gate = scripted.hold("coordinator")
    first = programs.start("worker.py", settings=settings)
    said_ready(first)
    async with Runs(server.client, RESEARCH_QUEUE, FileStore(tmp_path / "store")).of_one_test() as runs:
        run = await runs.start("Compare heat pumps", auto_accept=True)
        await eventually(lambda: gate.caught, "the coordinator's call")
        first.terminate()
        assert first.stderr is not None
        assert "stopping once calls in flight have finished" in first.stderr.readline()
        gate.open()
        assert first.wait(timeout=PATIENCE_S) == 0
        assert scripted.log.count("coordinator") == 1
        assert "coordinate" in completed_activities(await run.events())
    assert not await has_poller(server.client), "a worker that said goodbye is not waited for"
