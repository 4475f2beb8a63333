"""The embedded server: one per data directory, shared, stopped by the last client, noticed when it is gone."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from deer.devserver import ServerHold, ServerRecord, hold_server, log_file, recorded_server
from deer.devserver.processes import process
from deer.devserver.record import read_record
from deer.errors import SettingsError
from tests.eventually import eventually
from tests.source import ROOT

HOLDER = """
import asyncio, sys
from pathlib import Path
from deer.devserver import hold_server
async def main():
    hold = await hold_server(Path(sys.argv[1]))
    print(hold.address, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    hold.release()
asyncio.run(main())
"""


@pytest.fixture
def data_dir(temporal: str, tmp_path: Path) -> Iterator[Path]:
    """A data directory of this test; a server that is left in it is killed."""
    yield tmp_path / "data"
    record = read_record(tmp_path / "data")
    if record and record.is_alive:
        os.kill(record.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
async def running(
    temporal: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[ServerHold, int, Path]]:
    """A server at a port that was asked for, held by a process that has keys: hold, port and data directory."""
    data_dir, port = tmp_path_factory.mktemp("running") / "data", free_port()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OPENAI_API_KEY", "sk-canary")
        environment.setenv("TEMPORAL_ADDRESS", "elsewhere.example:7233")
        hold = await hold_server(data_dir, port=port)
    yield hold, port, data_dir
    await released(hold)


def another_process(data_dir: Path) -> subprocess.Popen[str]:
    """A process that holds the server until it is told a line; prints the address once it does."""
    command = [sys.executable, "-c", HOLDER, str(data_dir)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def recorded(data_dir: Path) -> ServerRecord:
    """The record, which must be there."""
    record = read_record(data_dir)
    assert record is not None
    return record


def write_record_file(data_dir: Path, text: str) -> None:
    """What an earlier program left in server.json."""
    data_dir.mkdir()
    data_dir.joinpath("server.json").write_text(text)


def environment_of(pid: int) -> dict[str, str]:
    """The variables that a process was started with; none where the system does not tell."""
    path = Path(f"/proc/{pid}/environ")
    text = path.read_text() if path.exists() else ""
    return dict(line.split("=", 1) for line in text.split("\0") if line)


def is_listening(address: str) -> bool:
    """Whether something accepts connections at `host:port`."""
    host, _, port = address.partition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_second_client_uses_the_same_server_and_the_last_one_stops_it(data_dir: Path) -> None:
    """A server is reused until its last client stops it; a newcomer waits for its end: two never share a database."""
    first = await hold_server(data_dir)
    second = await hold_server(data_dir)
    assert first.address == second.address
    first.release()
    await asyncio.sleep(0)
    assert recorded_server(data_dir) is not None
    old = recorded(data_dir)
    second.release()
    assert recorded_server(data_dir) is None, "a server that was told to stop takes no clients"
    newcomer = await hold_server(data_dir)
    assert not old.is_alive
    assert recorded(data_dir).pid != old.pid
    newcomer.release()
    await eventually(lambda: not recorded(data_dir).is_alive, "the end of the server", within_s=10)
    assert not is_listening(first.address)
    assert not is_listening(newcomer.address)
    assert (data_dir / "temporal.db").exists()


async def test_clients_that_start_at_once_get_one_server(data_dir: Path) -> None:
    """Processes that need a server at the same moment start one between them."""
    processes = [another_process(data_dir) for _ in range(2)]
    own = await hold_server(data_dir)
    addresses = [await asyncio.to_thread(started.stdout.readline) for started in processes if started.stdout]
    assert {address.strip() for address in addresses} == {own.address}
    assert len(recorded(data_dir).live_clients) == 3
    for started in processes:
        started.communicate("\n")
    assert len(recorded(data_dir).live_clients) == 1
    await released(own)


async def test_killed_client_is_not_counted(data_dir: Path) -> None:
    """A client that was killed does not keep the server from ending with the last living one."""
    killed = another_process(data_dir)
    own = await hold_server(data_dir)
    assert killed.stdout is not None
    await asyncio.to_thread(killed.stdout.readline)
    killed.kill()
    killed.communicate()
    assert await own.release_and_wait()


async def test_killed_server_is_started_again_where_it_listened(data_dir: Path) -> None:
    """A client that finds its server killed brings it back at the same address, still counted."""
    hold = await hold_server(data_dir)
    address, ui = hold.address, hold.ui
    os.kill(recorded(data_dir).pid, signal.SIGKILL)
    await eventually(lambda: not recorded(data_dir).is_alive, "the end of the server")
    assert recorded_server(data_dir) is None
    await hold.revive()
    assert (hold.address, hold.ui) == (address, ui)
    assert len(recorded(data_dir).live_clients) == 1
    await released(hold)


async def test_pid_that_now_belongs_to_another_program_is_stale(data_dir: Path) -> None:
    """A record whose pid the system gave to somebody else is not taken for a server, nor is that process harmed."""
    stranger = process(os.getpid()).model_dump() | {"start_time": "long ago"}
    record = ServerRecord(**stranger, address=f"127.0.0.1:{free_port()}", ui=f"http://127.0.0.1:{free_port()}")
    write_record_file(data_dir, record.model_dump_json())
    assert recorded_server(data_dir) is None
    hold = await hold_server(data_dir)
    assert recorded(data_dir).pid != os.getpid()
    await released(hold)


@pytest.mark.parametrize("broken", ['{"pid": ', '{"pid": 1, "start_time": "x", "address": "nope", "ui": "nope"}'])
async def test_record_that_cannot_be_read_counts_as_none(data_dir: Path, broken: str) -> None:
    """A broken server.json is replaced, not a reason to fail."""
    write_record_file(data_dir, broken)
    hold = await hold_server(data_dir)
    assert json.loads((data_dir / "server.json").read_text())["address"] == hold.address
    await released(hold)


async def test_server_is_out_of_reach_of_other_machines_and_keys(running: tuple[ServerHold, int, Path]) -> None:
    """The server listens on loopback only, in a session of its own, and gets none of our variables."""
    hold, _, data_dir = running
    pid = recorded(data_dir).pid
    assert hold.address.startswith("127.0.0.1:")
    assert hold.ui.startswith("http://127.0.0.1:")
    assert os.getsid(pid) == pid
    assert not {"OPENAI_API_KEY", "TEMPORAL_ADDRESS"} & environment_of(pid).keys()
    assert log_file(data_dir).exists()


async def test_port_is_taken_from_the_caller_and_refused_when_taken(
    running: tuple[ServerHold, int, Path], tmp_path: Path
) -> None:
    """A named port is used; one that is taken, or another than the running server's, is refused by name."""
    hold, port, data_dir = running
    assert hold.address == f"127.0.0.1:{port}"
    with pytest.raises(SettingsError, match=f"--port {port} is taken"):
        await hold_server(tmp_path / "other", port=port)
    with pytest.raises(SettingsError, match=f"already runs at 127.0.0.1:{port}"):
        await hold_server(data_dir, port=free_port())
    assert len(recorded(data_dir).live_clients) == 1


async def test_data_directory_that_cannot_be_used_is_named(temporal: str, tmp_path: Path) -> None:
    """A data directory that is a file is refused with the name of the setting."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="DEER_DATA_DIR="):
        await hold_server(tmp_path / "file" / "data")


async def test_one_client_works_and_another_may_when_it_stops(running: tuple[ServerHold, int, Path]) -> None:
    """Only one client is recorded with a worker; the next may once that one takes no more work."""
    first, _, data_dir = running
    second = await hold_server(data_dir)
    assert first.start_working()
    assert not second.start_working()
    first.stop_working()
    assert second.start_working()
    assert recorded(data_dir).has_worker
    second.release()
    assert first.start_working()


async def released(hold: ServerHold) -> None:
    """Release the last hold and see the server end."""
    assert await hold.release_and_wait()
