"""The embedded server alone, and in the background, by the product's own commands."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.programs import PATIENCE_S, Programs
from tests.eventually import eventually

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]


@pytest.fixture
def programs(temporal: str, tmp_path: Path) -> Iterator[Programs]:
    """Programs on a data directory of this test."""
    with Programs(tmp_path / "data") as started:
        yield started


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_server_ends_within_ten_seconds_of_sigterm(programs: Programs) -> None:
    """`server --port` listens there whatever TEMPORAL_ADDRESS says, needs no store, and leaves nothing running."""
    port = free_port()
    server = programs.start(
        "starter.py", "server", "--port", str(port), settings={"TEMPORAL_ADDRESS": "elsewhere.invalid:7233"}
    )
    assert server.stdout is not None
    assert f"127.0.0.1:{port}" in server.stdout.readline()
    server.terminate()
    assert server.wait(timeout=10) == 0
    assert programs.server is None
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_second_server_on_another_port_is_refused(programs: Programs) -> None:
    """A data directory has one server: another port is refused in one line with the address there is."""
    port = free_port()
    server = programs.start("starter.py", "server", "--port", str(port))
    assert server.stdout is not None
    server.stdout.readline()
    code, out, err = programs.run("starter.py", "server", "--port", str(free_port()))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert f"already runs at 127.0.0.1:{port}" in err


async def test_detached_run_goes_on_in_the_background_and_leaves_nothing(programs: Programs) -> None:
    """`research --detach` returns at once; a process of its own completes the run and ends with the server."""
    code, out, err = programs.run(
        "starter.py", "research", "How do workers poll?", "--auto-accept", "--detach", "--id", "away"
    )
    assert code == 0, err
    assert out.strip() == "away"
    await eventually(lambda: not programs.server, "the end of the background process and its server", PATIENCE_S)
    code, out, _ = programs.run("starter.py", "show", "away", "--json")
    assert code == 0
    assert '"phase": "completed' in out or '"phase":"completed' in out


async def test_background_process_ends_when_runs_wait_for_a_person(programs: Programs) -> None:
    """A plan that waits keeps no process; approving it later carries the run on to its end."""
    code, _, err = programs.run("starter.py", "research", "How do workers poll?", "--detach", "--id", "waits")
    assert code == 0, err
    await eventually(lambda: not programs.server, "the end of the background process and its server", PATIENCE_S)
    code, out, err = programs.run("starter.py", "approve", "waits")
    assert code == 0, err
    assert out.startswith("# ")


async def test_serve_carries_runs_on_until_it_is_stopped(programs: Programs) -> None:
    """`serve` works for runs of other commands, stays when they have ended, and exits 0 on SIGTERM."""
    serve = programs.start("starter.py", "serve")
    assert serve.stdout is not None
    assert "serving" in serve.stdout.readline()
    await eventually(lambda: programs.server and programs.server.has_worker, "the worker", PATIENCE_S)
    code, out, err = programs.run("starter.py", "research", "How do workers poll?", "--auto-accept")
    assert code == 0, err
    assert out.startswith("# ")
    assert serve.poll() is None
    os.kill(serve.pid, signal.SIGTERM)
    assert serve.wait(timeout=PATIENCE_S) == 0
    await programs.server_ended()
