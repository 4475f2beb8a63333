"""The product's programs as processes, with the settings of a test and none of the machine's."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from deer.devserver.record import ServerRecord, read_record
from tests.eventually import eventually
from tests.faults.worker_process import FOREIGN_SETTINGS
from tests.source import ROOT

PATIENCE_S = 60
"""A program loads its libraries for a second, or for ten on a machine that does much else."""

Program = subprocess.Popen[str]


class Programs:
    """Starts programs on a data directory. Use as a context manager: what still runs at the end is killed."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._opened = ExitStack()

    def __enter__(self) -> "Programs":
        return self

    def __exit__(self, *exit_: object) -> None:
        self._opened.close()
        record = read_record(self.data_dir)
        for process in (*record.live_clients, record) if record else ():
            if process.is_alive:
                os.kill(process.pid, signal.SIGKILL)

    def start(self, *arguments: str, settings: Mapping[str, str] | None = None) -> Program:
        """Start `python ARGUMENTS` in the checkout, in a session of its own as terminals give one."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_SETTINGS)}
        program = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env={**inherited, "NO_COLOR": "1", "DEER_DATA_DIR": str(self.data_dir), **(settings or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._opened.callback(_end, program)
        return program

    def run(self, *arguments: str, settings: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        """Run a program to its end: exit code, standard output, standard error."""
        program = self.start(*arguments, settings=settings)
        out, err = program.communicate(timeout=PATIENCE_S)
        return program.returncode, out, err

    @property
    def server(self) -> ServerRecord | None:
        """The embedded server, None when it does not run."""
        record = read_record(self.data_dir)
        return record if record and record.is_alive else None

    @property
    def clients(self) -> int:
        """How many processes use the embedded server."""
        record = self.server
        return len(record.live_clients) if record else 0

    async def server_ended(self) -> None:
        """Wait until no embedded server runs, ten seconds at most."""
        await eventually(lambda: not self.server, "the end of the server with its last client", within_s=10)


def _end(program: Program) -> None:
    program.kill()
    program.communicate()
