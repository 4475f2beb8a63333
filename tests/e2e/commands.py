"""The command line under test: as a process of its own, or inside this one where only its words matter."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from deer.cli.exits import run_and_report
from deer.models import RunStatus
from tests.faults.worker_process import FOREIGN_SETTINGS
from tests.scripted import leaked_canaries
from tests.source import ROOT

PROCESS_SECONDS = 60.0


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def status(self) -> RunStatus:
        """The status object on the last line of standard output."""
        return RunStatus.model_validate_json(self.out.strip().splitlines()[-1])

    @property
    def error(self) -> str:
        """The one line that an error is."""
        lines = [line for line in self.err.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        return lines[0]


class CommandLine:
    """The command line inside the test's own process, without terminals, with these settings and no others.

    A process of its own costs more than a second and adds nothing to the words and the code of most commands.
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], settings: Mapping[str, str]
    ) -> None:
        for name in list(os.environ):
            if name.startswith(FOREIGN_SETTINGS):
                monkeypatch.delenv(name)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        self._capsys = capsys

    def run(self, *arguments: str) -> Ran:
        """Run a command to its end."""
        self._capsys.readouterr()
        code = run_and_report(arguments)
        written = self._capsys.readouterr()
        assert not leaked_canaries(written.out + written.err)
        return Ran(code, written.out, written.err)


class Program:
    """`starter.py` as a process, with these settings and no others."""

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_SETTINGS)}
        self.environment = {**inherited, "DEER_DATA_DIR": str(directory / "data"), "NO_COLOR": "1", **settings}

    def run(self, *arguments: str, input_text: str = "") -> Ran:
        """Run a command without a terminal."""
        ran = subprocess.run(
            self.command(*arguments),
            cwd=ROOT,
            env=self.environment,
            input=input_text,
            capture_output=True,
            text=True,
            timeout=PROCESS_SECONDS,
            check=False,
        )
        assert not leaked_canaries(ran.stdout + ran.stderr)
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    @staticmethod
    def command(*arguments: str) -> list[str]:
        """The command line."""
        return [sys.executable, str(ROOT / "starter.py"), *arguments]


def as_json(text: str) -> object:
    """The JSON value that a text is."""
    value: object = json.loads(text)
    return value
