"""The embedded mode from a person's seat: one command after another, without and with a terminal."""

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deer.models import Phase
from tests.e2e.commands import PROCESS_SECONDS, Program
from tests.eventually import eventually
from tests.scripted import ScriptedServices, call_tool
from tests.source import ROOT

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("temporal"), pytest.mark.timeout(300)]


@pytest.fixture
def program(scripted: ScriptedServices, tmp_path: Path) -> Program:
    """The command line with a data directory of its own, asking the scripted services."""
    return Program(tmp_path, scripted.environment())


class Seat:
    """A person at a terminal of which both ends of the program are part."""

    def __init__(self, program: Program, *arguments: str, **settings: str) -> None:
        ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            program.command(*arguments),
            cwd=ROOT,
            env={**program.environment, "TERM": "xterm", "COLUMNS": "100", **settings},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._ours = ours
        self.seen = ""

    def __enter__(self) -> "Seat":
        return self

    def __exit__(self, *ended: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._ours)

    def wait_for(self, words: str) -> None:
        """Read until the screen has shown these words since the last wait."""
        begin = len(self.seen)
        for _ in self._reading():
            if words in self.seen[begin:]:
                return
        raise AssertionError(f"{words!r} was not shown: {self.seen[-2_000:]}")

    def type(self, line: str) -> None:
        """Type a line and Enter."""
        os.write(self._ours, f"{line}\n".encode())

    def interrupt(self) -> None:
        """What Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def leave(self) -> int:
        """Read to the end of the program; its exit code."""
        for _ in self._reading():
            pass
        return self._process.wait(timeout=PROCESS_SECONDS)

    def _reading(self) -> Iterator[None]:
        deadline = time.monotonic() + PROCESS_SECONDS
        while time.monotonic() < deadline:
            if not select.select([self._ours], [], [], 0.2)[0]:
                continue
            try:
                read = os.read(self._ours, 65_536)
            except OSError:  # the program has closed its end
                return
            self.seen += read.decode(errors="replace")
            yield


def test_from_question_to_report_in_several_commands(program: Program, scripted: ScriptedServices) -> None:
    """A plan waits with its server gone; approving it in another command carries the run to its report."""
    waiting = program.run("research", "Compare heat pumps", "--id", "steps", "--json")
    assert (waiting.code, waiting.status.phase) == (3, Phase.AWAITING_REVIEW)
    assert "approve steps" in waiting.err
    assert scripted.log.count("researcher") == 0

    approved = program.run("approve", "steps")
    assert approved.code == 0
    assert approved.out.startswith("# ")
    assert scripted.log.count("planner") == 1


def test_question_and_plan_are_answered_at_the_terminal(
    program: Program, scripted: ScriptedServices, tmp_path: Path
) -> None:
    """A question back is answered in a line, for all later roles; the plan, a table, is edited as YAML and accepted."""
    scripted.scripts["coordinator"] = [
        call_tool("ask_clarification", question="For which climate?", options=["cold", "mild"]),
        call_tool("handoff_to_planner", research_topic="heat pumps", locale="en-US"),
    ]
    editor = tmp_path / "editor.sh"
    editor.write_text("#!/bin/sh\nsed -i 's/Look at subject-a1/Look at subject-k77/' \"$1\"\n", encoding="utf-8")
    editor.chmod(0o755)
    question = ("research", "Compare heat pumps", "--id", "seat", "--clarify")
    with Seat(program, *question, EDITOR=str(editor), VISUAL="") as seat:
        seat.wait_for("leaves it waiting")
        assert "For which climate?" in seat.seen
        assert "- mild" in seat.seen
        seat.type("below minus twenty")
        seat.wait_for("leave it waiting [l]?")
        assert "below minus twenty" in scripted.log.text("planner")
        assert "subject-a1" in seat.seen
        seat.type("e")
        seat.wait_for("leave it waiting [l]?")
        assert "Plan 2" in seat.seen
        seat.type("a")
        assert seat.leave() == 0
    assert "subject-k77" in seat.seen
    assert "report saved:" in seat.seen
    assert "# Report" not in seat.seen


async def test_ctrl_c_says_how_to_go_on(program: Program, scripted: ScriptedServices) -> None:
    """Ctrl-C ends the command and not the run: the next command takes it to its report."""
    gate = scripted.hold("reporter")
    with Seat(program, "research", "Compare heat pumps", "--id", "held", "--auto-accept") as seat:
        seat.wait_for("reporting")
        await eventually(lambda: gate.caught, "the reporter's call", within_s=PROCESS_SECONDS)
        seat.interrupt()
        seat.wait_for("follow held")
        gate.open()
        assert seat.leave() == 130
    ended = program.run("follow", "held", "--json")
    assert (ended.code, ended.status.phase) == (0, Phase.COMPLETED)
    assert scripted.log.count("planner") == 1
