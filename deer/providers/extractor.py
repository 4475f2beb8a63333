"""Runs `extraction` in a few processes of its own, so that no page can hold up or harm the worker."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from deer.errors import FailureKind, ServiceError
from deer.models.texts import Model

_PROGRAM = "deer.providers.extraction"
_ROOT = Path(__file__).parents[2]
_MAX_ANSWER_BYTES = 4 * 1024 * 1024
_WARMING_DEADLINE = timedelta(seconds=30)
_NICENESS = 10
_ORDINARY_PAGE = b"<title>-</title><article>" + b"<p>One sentence of an ordinary page.</p>" * 20 + b"</article>"
"""Long enough to do without the word lists of a hundred languages, half a second's work, that short pages bring in."""


class BodyKind(StrEnum):
    """What the bytes of a page are."""

    HTML = "html"
    TEXT = "text"


class Extracted(Model):
    """The readable text of a page as Markdown or plain text; `cut` when it was longer than the program's cap."""

    title: str
    text: str
    cut: bool


class Extractor:
    """Extracts pages in at most `processes` at once, each ended at `deadline` per page and replaced when next needed.

    A process starts within a second and then takes some 20 ms for an ordinary page; `warm` starts all ahead of need.
    """

    def __init__(self, processes: int, deadline: timedelta) -> None:
        self._deadline = deadline
        self._count = processes
        self._slots: asyncio.Queue[_Slot] = asyncio.Queue()
        for _ in range(processes):
            self._slots.put_nowait(_Slot())

    async def warm(self) -> None:
        """Start all processes, one after another so as to leave cores to others, and have each load its libraries."""
        for _ in range(self._count):
            await self._extract(_ORDINARY_PAGE, BodyKind.HTML, None, max(self._deadline, _WARMING_DEADLINE))

    async def extract(self, body: bytes, kind: BodyKind, charset: str | None) -> Extracted:
        """The text of a body. Raises ServiceError (Unreadable) when it takes too long or cannot be parsed."""
        return await self._extract(body, kind, charset, self._deadline)

    async def _extract(self, body: bytes, kind: BodyKind, charset: str | None, deadline: timedelta) -> Extracted:
        seconds = deadline.total_seconds()
        head = json.dumps({"kind": kind, "charset": charset, "seconds": seconds, "bytes": len(body)}).encode()
        slot = await self._slots.get()
        try:
            answer = await slot.answer(head + b"\n" + body)
        finally:
            self._slots.put_nowait(slot)
        if isinstance(answer, bytes):
            return Extracted.model_validate_json(answer)
        why = f"takes longer than {seconds:g} s" if answer == -signal.SIGALRM else "breaks off"
        raise ServiceError(f"finding the text of the page {why}", FailureKind.UNREADABLE)

    async def aclose(self) -> None:
        """End the processes, after the pages at work; the object is of no use afterwards."""
        for _ in range(self._count):
            await (await self._slots.get()).stop()


class _Slot:
    """Room for one process, which is started when there is a job and none alive."""

    def __init__(self) -> None:
        self._process: Process | None = None

    async def answer(self, job: bytes) -> bytes | int:
        """The line that the process answers, or the exit code when it ended instead."""
        process = self._process or await _started()
        self._process = None  # kept again only after its answer: a cancelled job's would reach the next page
        try:
            answer = await _exchange(process, job)
            if isinstance(answer, bytes):
                self._process = process
        finally:
            if self._process is None and process.returncode is None:
                process.kill()
        return answer

    async def stop(self) -> None:
        if self._process is not None:
            _streams(self._process)[0].close()  # the program ends with its input
            await self._process.wait()


async def _started() -> Process:
    """A process without the worker's environment, which holds keys, and out of reach of the terminal's Ctrl-C.

    It steps back when cores are short. Its group is its own, its session the worker's: Linux weighs niceness within
    a session only.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            _PROGRAM,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            cwd=_ROOT,
            env={"PYTHONPATH": str(_ROOT)},
            limit=_MAX_ANSWER_BYTES,
            process_group=0,
        )
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
        return process
    except OSError as error:
        raise ServiceError(
            f"no process to read pages with can be started ({error.strerror})", FailureKind.UNAVAILABLE, retryable=True
        ) from error


async def _exchange(process: Process, job: bytes) -> bytes | int:
    jobs, answers = _streams(process)
    with suppress(BrokenPipeError, ConnectionResetError):  # it has ended, which reading tells too
        jobs.write(job)
        await jobs.drain()
    return await answers.readline() or await process.wait()


def _streams(process: Process) -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
    assert process.stdin is not None  # both were asked for as pipes
    assert process.stdout is not None
    return process.stdin, process.stdout
