"""The product's worker as a process of its own, which a test may kill."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, Self

from tests.eventually import Shortfall, eventually
from tests.scripted import ScriptedServices
from tests.source import ROOT

FOREIGN_SETTINGS = ("OPENAI", "TAVILY", "TEMPORAL", "DEER", "BASIC_", "REASONING_", "ROLE_", "SEARCH_", "MCP_", "MAX_")

READY = "worker ready"
LAST_WORDS_CHARS = 500
START_S = 60
"""A worker is up in two seconds, and in half a minute where five programs share a core."""


class Started(Protocol):
    """A process with a process group of its own."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self) -> int: ...


Start = Callable[[Mapping[str, str], Path], Started]
"""Starts a worker with an environment; it writes to the file."""


def start_program(environment: Mapping[str, str], log: Path) -> Started:
    """Start `worker.py` as a person would."""
    with log.open("ab") as written:
        return subprocess.Popen(
            [sys.executable, "worker.py"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            start_new_session=True,
        )


class WorkerProcess:
    """`worker.py` for a server at `address`, with its store under `directory`. A context manager that ends it.

    `settings` are variables on top of those of the scripted services.
    """

    def __init__(
        self,
        address: str,
        services: ScriptedServices,
        directory: Path,
        start: Start = start_program,
        **settings: str,
    ) -> None:
        self.store = directory / "store"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_SETTINGS)}
        self._environment = {
            **inherited,
            **services.environment(),
            "TEMPORAL_ADDRESS": address,
            "DEER_STORE": str(self.store),
            "DEER_DATA_DIR": str(directory / "data"),
            **settings,
        }
        self._start = start
        self._process: Started | None = None
        self._log_path = directory / "worker.log"
        self._log_path.touch()
        self._log_before = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exit_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start a worker, where there is none."""
        self._log_before = len(self.log)
        self._process = self._start(self._environment, self._log_path)

    async def until_ready(self) -> float:
        """Wait until the worker started last takes work; seconds of the monotonic clock when it was seen to."""
        await eventually(self._is_ready, "a worker that is ready", START_S)
        return time.monotonic()

    def _is_ready(self) -> bool | Shortfall:
        said = self.log[self._log_before :]
        return READY in said or Shortfall(f"it said {said[-LAST_WORDS_CHARS:] or 'nothing'}")

    @property
    def pid(self) -> int:
        """The process started last."""
        assert self._process is not None, "no worker was started"
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process started last still runs."""
        return self._process is not None and self._process.poll() is None

    def freeze(self) -> None:
        """Let it take what it is handed and do nothing with it, as in the moment before its death."""
        os.killpg(self.pid, signal.SIGSTOP)

    def strike(self) -> None:
        """`kill -9`, without waiting for the process to be gone."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """`kill -9`, and nothing it could do about it."""
        self.strike()
        if self._process is not None:
            self._process.wait()

    @property
    def log(self) -> str:
        """What the workers wrote."""
        return self._log_path.read_text(errors="replace")
