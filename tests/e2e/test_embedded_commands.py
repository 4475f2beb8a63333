"""Commands on an embedded server: stopped, killed and started beside each other, a run always goes on."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from deer.cli.interrupts import INTERRUPTED
from tests.e2e.programs import PATIENCE_S, Program, Programs
from tests.eventually import eventually

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]


class Terminal:
    """Starts `tiny_program` in a directory, as people would in terminals, and reads what its calls noted."""

    def __init__(self, directory: Path, programs: Programs) -> None:
        self.directory = directory
        self.programs = programs

    def start(self) -> Program:
        """Start a command."""
        return self.programs.start("-m", "tests.e2e.tiny_program", str(self.directory), "run")

    async def noted(self, line: str) -> None:
        """Wait for a line in the notes."""
        await eventually(lambda: line in self.notes, f"the note {line!r}", PATIENCE_S)

    @property
    def notes(self) -> list[str]:
        """What workers and calls noted, in order."""
        path = self.directory / "calls"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def calls_made(self) -> list[str]:
        """The numbers of the calls that were made, in order; one that was repeated is there twice."""
        return [line[0] for line in self.notes if " made by " in line]

    def let_calls_end(self) -> None:
        """Let all calls end, those in flight and those to come."""
        (self.directory / "open").touch()

    @property
    def server_pid(self) -> int:
        """The process of the embedded server; 0 when none runs."""
        record = self.programs.server
        return record.pid if record else 0


@pytest.fixture
def terminal(temporal: str, tmp_path: Path) -> Iterator[Terminal]:
    """A terminal in a directory of this test."""
    with Programs(tmp_path / "data") as programs:
        yield Terminal(tmp_path, programs)


async def test_ctrl_c_lets_the_call_finish_and_the_next_command_goes_on(terminal: Terminal) -> None:
    """Ctrl-C in a call: the call is not made again, the run stays open, and the next command carries it on."""
    first = terminal.start()
    await terminal.noted(f"1 made by {first.pid}")
    os.killpg(first.pid, signal.SIGINT)
    assert first.stderr is not None
    assert "stopping once calls in flight have finished" in first.stderr.readline()
    assert first.poll() is None
    terminal.let_calls_end()
    first.communicate(timeout=PATIENCE_S)
    assert first.returncode != 0
    assert f"1 done by {first.pid}" in terminal.notes
    await terminal.programs.server_ended()
    second = terminal.start()
    assert second.communicate(timeout=PATIENCE_S)[0] == "both calls made\n"
    assert terminal.calls_made == ["1", "2"]


async def test_second_ctrl_c_leaves_at_once(terminal: Terminal) -> None:
    """A second Ctrl-C does not wait for the call in flight, and the server ends with the command."""
    command = terminal.start()
    await terminal.noted(f"1 made by {command.pid}")
    os.killpg(command.pid, signal.SIGINT)
    assert command.stderr is not None
    command.stderr.readline()
    os.killpg(command.pid, signal.SIGINT)
    assert command.wait(timeout=5) == INTERRUPTED
    await terminal.programs.server_ended()


async def test_next_command_goes_on_after_kill_9(terminal: Terminal) -> None:
    """`kill -9` of a command leaves server and run; the next command uses both and repeats the call in flight only."""
    first = terminal.start()
    await terminal.noted(f"1 made by {first.pid}")
    server_pid = terminal.server_pid
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    terminal.let_calls_end()
    second = terminal.start()
    assert second.communicate(timeout=PATIENCE_S)[0] == "both calls made\n"
    assert terminal.calls_made == ["1", "1", "2"]
    assert server_pid, "the first command had a server"
    await terminal.programs.server_ended()


async def test_second_terminal_takes_over_when_the_first_exits(terminal: Terminal) -> None:
    """Of two commands that follow a run the first works; when SIGTERM ends it, the second works on the same server."""
    first = terminal.start()
    await terminal.noted(f"1 made by {first.pid}")
    second = terminal.start()
    await eventually(lambda: terminal.programs.clients == 2, "the second client", PATIENCE_S)
    assert f"worker {second.pid}" not in terminal.notes
    first.terminate()
    await terminal.noted(f"worker {second.pid}")  # while the call of the first is still in flight
    terminal.let_calls_end()
    assert second.communicate(timeout=PATIENCE_S)[0] == "both calls made\n"
    assert terminal.calls_made == ["1", "2"]
    assert f"1 done by {first.pid}" in terminal.notes


async def test_run_survives_its_server(terminal: Terminal) -> None:
    """`kill -9` of the server under a command: it is started again on its database and the run completes."""
    command = terminal.start()
    await terminal.noted(f"1 made by {command.pid}")
    killed = terminal.server_pid
    os.kill(killed, signal.SIGKILL)
    await eventually(lambda: terminal.server_pid not in (0, killed), "another server", PATIENCE_S)
    terminal.let_calls_end()
    assert command.communicate(timeout=PATIENCE_S)[0] == "both calls made\n"
