"""The embedded server alone, and in the background, by the product's own commands."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from deer.models import Phase, RunStatus
from deer.providers.files import FileStore
from tests.e2e.programs import PATIENCE_S, Programs
from tests.eventually import always, eventually
from tests.scripted import REFUSED_KEY, Call, ScriptedServices, plan_of, research_step
from tests.scripted.roles import asked_text, researcher

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


def works(programs: Programs) -> bool:
    """Whether the embedded server has a worker."""
    record = programs.server
    return record is not None and record.has_worker


def test_server_ends_within_ten_seconds_of_sigterm(programs: Programs) -> None:
    """`server --port` listens there whatever TEMPORAL_ADDRESS says, refuses another port, and leaves nothing behind."""
    port, settings = free_port(), {"TEMPORAL_ADDRESS": "elsewhere.invalid:7233"}
    server = programs.start("starter.py", "server", "--port", str(port), settings=settings)
    assert server.stdout is not None
    assert f"127.0.0.1:{port}" in server.stdout.readline()
    code, out, err = programs.run("starter.py", "server", "--port", str(free_port()))
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert f"already runs at 127.0.0.1:{port}" in err
    server.terminate()
    assert server.wait(timeout=10) == 0
    assert programs.server is None
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


async def test_detached_run_goes_on_in_the_background_while_it_can(programs: Programs) -> None:
    """With `--detach` a process of its own carries the run on, and ends when the run waits for a person or is over."""
    store = FileStore(programs.data_dir / "store")
    code, out, err = programs.run("starter.py", "research", "How do workers poll?", "--detach", "--id", "away")
    assert (code, out.strip()) == (0, "away"), err
    await eventually(lambda: not programs.server, "the end of the background process and its server", PATIENCE_S)
    code, out, err = programs.run("starter.py", "approve", "away", "--detach")
    assert (code, out.strip()) == (0, "away"), err
    await eventually(lambda: not programs.server, "the end of the second background process", PATIENCE_S)
    record = RunStatus.model_validate_json(await store.read_entry("runs/away") or "")
    assert record.phase is Phase.COMPLETED
    assert record.report is not None


async def test_a_run_goes_on_in_the_background_beside_a_step_that_needs_attention(
    programs: Programs, scripted: ScriptedServices
) -> None:
    """A refused key holds one step; the process in the background stays for the other, and ends when that is done."""

    def is_free(call: Call) -> bool:
        return "subject-free" in asked_text(call)

    scripted.scripts["planner"] = plan_of(research_step("subject-held"), research_step("subject-free"))
    scripted.scripts["researcher"] = lambda call: researcher(call) if is_free(call) else REFUSED_KEY
    gate = scripted.hold("researcher", where=is_free)
    code, _, err = programs.run(
        "starter.py", "research", "Why?", "--detach", "--auto-accept", "--id", "half", settings=scripted.environment()
    )
    assert code == 0, err
    store = FileStore(programs.data_dir / "store")

    async def is_held() -> bool:
        record = await store.read_entry("runs/half")
        return record is not None and RunStatus.model_validate_json(record).phase is Phase.NEEDS_ATTENTION

    await eventually(is_held, "a step that needs attention", PATIENCE_S)
    await always(lambda: works(programs), "the work for the other step", for_s=3)  # it looks every second
    gate.open()
    await eventually(lambda: not programs.server, "the end of the background process", PATIENCE_S)
    assert [call.rounds for call in scripted.log.calls("researcher") if is_free(call)] == [0, 1, 2]


async def test_serve_carries_runs_on_until_it_is_stopped(programs: Programs) -> None:
    """`serve` works for runs of other commands, stays when they have ended, and exits 0 on SIGTERM."""
    serve = programs.start("starter.py", "serve")
    assert serve.stdout is not None
    assert "serving" in serve.stdout.readline()
    await eventually(lambda: works(programs), "the worker", PATIENCE_S)
    code, out, err = programs.run("starter.py", "research", "How do workers poll?", "--auto-accept")
    assert code == 0, err
    assert out.startswith("# ")
    assert serve.poll() is None
    os.kill(serve.pid, signal.SIGTERM)
    assert serve.wait(timeout=PATIENCE_S) == 0
    await programs.server_ended()
