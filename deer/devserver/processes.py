"""Processes by pid and start time, so that a number the system gave to somebody else is not taken for them."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from deer.models import Model

_PROC = Path("/proc")
_RUNNING, _ZOMBIE, _STOPPED = "R", "Z", "T"


class ProcessId(Model):
    """A process. `start_time` is opaque: only equal or not to that of the same pid later."""

    pid: int
    start_time: str

    @property
    def is_alive(self) -> bool:
        """Whether the process still exists. One that ended and was not collected by its parent does not."""
        state, start_time = _state_and_start_time(self.pid)
        return state not in {"", _ZOMBIE} and start_time == self.start_time

    @property
    def is_at_work(self) -> bool:
        """Whether the process is alive and not suspended (Ctrl-Z)."""
        state, start_time = _state_and_start_time(self.pid)
        return state not in {"", _ZOMBIE, _STOPPED} and start_time == self.start_time


def process(pid: int) -> ProcessId:
    """The process that has this pid now; one that has ended is given an empty start time and is never alive."""
    return ProcessId(pid=pid, start_time=_state_and_start_time(pid)[1])


def spawn_in_own_session(command: Sequence[str], *, env: Mapping[str, str], log: Path) -> ProcessId:
    """Start a program that no terminal signal reaches and that outlives this process; it writes to `log`.

    Raises OSError when the program cannot be started.
    """
    # Not subprocess.Popen: its object complains when it is dropped while the program runs, which is the purpose here.
    pid = os.posix_spawn(
        command[0],
        list(command),
        dict(env),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    return process(pid)


def _state_and_start_time(pid: int) -> tuple[str, str]:
    """State letter and start time, both empty when there is no such process."""
    return _from_proc(pid) if _PROC.joinpath("self").exists() else _from_ps(pid)


def _from_proc(pid: int) -> tuple[str, str]:
    try:
        line = _PROC.joinpath(str(pid), "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return "", ""
    # The second field, the program's name in brackets, may hold anything. Counted from the third: state, number of
    # threads, time of start.
    fields = line.rpartition(")")[2].split()
    state, threads, start_time = fields[0], int(fields[17]), fields[19]
    # A killed process is a zombie already while its last threads still have its ports and files open.
    return _RUNNING if state == _ZOMBIE and threads > 1 else state, start_time


def _from_ps(pid: int) -> tuple[str, str]:
    command = ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)]
    line = subprocess.run(command, capture_output=True, text=True, check=False, env={"LC_ALL": "C"}).stdout.strip()  # noqa: S603 - fixed program, a number
    state, _, start_time = line.partition(" ")
    return state[:1], start_time.strip()
