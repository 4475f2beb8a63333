"""A process that has loaded the product once and forks workers, each a process of its own that is up in a moment.

What it saves is the second or two in which a worker loads its libraries, so that a harness can kill hundreds.
Forking is sound here because loading starts no thread; the Temporal client begins in the child.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from deer.devserver.processes import ProcessId, process
from tests.source import ROOT

KILLED_WITHIN_S = 5.0
_OF_A_MODEL = {"OPENAI_API_KEY": "none", "BASIC_MODEL": "none"}


class ForkedWorker:
    """A worker that was forked. `pid` is also its process group, as of a program started in its own session."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._process: ProcessId = process(pid)

    def poll(self) -> int | None:
        """None while it runs, as with `subprocess`; which code it ended with is not known."""
        return None if self._process.is_alive else 0

    def wait(self) -> int:
        """Wait for its end, which is near."""
        give_up_at = time.monotonic() + KILLED_WITHIN_S
        while self.poll() is None:
            assert time.monotonic() < give_up_at, f"process {self.pid} does not end"
            time.sleep(0.002)
        return 0


class PreloadedProduct:
    """Forks workers. A context manager: workers that still run when it is left are on their own."""

    def __enter__(self) -> Self:
        self._source = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.preloaded"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self

    def __exit__(self, *exit_: object) -> None:
        self._source.kill()
        self._source.communicate()

    def start_worker(self, environment: Mapping[str, str], log: Path) -> ForkedWorker:
        """Start `worker.py` with this environment and no other, writing to `log`."""
        assert self._source.stdin is not None
        assert self._source.stdout is not None
        self._source.stdin.write(json.dumps({"environment": dict(environment), "log": str(log)}) + "\n")
        self._source.stdin.flush()
        return ForkedWorker(int(self._source.stdout.readline()))


def _fork_on_demand() -> None:
    """Fork a worker for each line of standard input, and answer with its process id."""
    import worker
    from deer.config import load_settings

    worker.load_worker(load_settings(_OF_A_MODEL))  # for the children
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system collects those that ended
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _become_worker(asked["environment"], asked["log"], worker.main)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


def _become_worker(environment: Mapping[str, str], log: str, main: Callable[[], int]) -> None:
    os.setsid()
    null, written = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for target, source in ((0, null), (1, written), (2, written)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(environment)
    os._exit(main())


if __name__ == "__main__":
    _fork_on_demand()
