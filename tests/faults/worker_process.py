"""The product's worker as a process of its own, which a test may kill."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.eventually import eventually
from tests.scripted import ScriptedServices
from tests.source import ROOT

FOREIGN_SETTINGS = ("OPENAI", "TAVILY", "TEMPORAL", "DEER", "BASIC_", "REASONING_", "ROLE_", "SEARCH_", "MCP_", "MAX_")

READY = "worker ready"
START_S = 60
"""A worker is up in two seconds, and in half a minute where five programs share a core."""


class WorkerProcess:
    """`worker.py` for a server at `address`, with its store under `directory`. A context manager that ends it."""

    def __init__(self, address: str, services: ScriptedServices, directory: Path, **settings: str) -> None:
        """`settings`: more of them, as in its environment."""
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
        self._log = (directory / "worker.log").open("ab")
        self._process: subprocess.Popen[bytes] | None = None
        self._log_path = directory / "worker.log"
        self._log_before = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exit_: object) -> None:
        self.kill()
        self._log.close()

    def start(self) -> None:
        """Start a worker, where there is none."""
        self._log_before = len(self.log)
        self._process = subprocess.Popen(
            [sys.executable, "worker.py"],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )

    async def until_ready(self) -> None:
        """Wait until the worker started last takes work."""
        await eventually(lambda: READY in self.log[self._log_before :], "a worker that is ready", START_S)

    def kill(self) -> None:
        """`kill -9`, and nothing it could do about it."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    @property
    def log(self) -> str:
        """What the workers wrote."""
        return self._log_path.read_text(errors="replace")
