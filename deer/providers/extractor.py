"""Runs the program `extraction` in a few processes, so that no page can hold up or harm the worker."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from pydantic import TypeAdapter

from deer.errors import FailureKind, ServiceError
from deer.models.texts import Model

_PROGRAM = "deer.providers.extraction"
_ROOT = Path(__file__).parents[2]
_MAX_ANSWER_BYTES = 8 * 1024 * 1024
_WRITTEN_AT_ONCE = 256 * 1024
_WARMING_DEADLINE = timedelta(seconds=30)
_NICENESS = 10
_ORDINARY_PAGE = b"<title>-</title><article>" + b"<p>One sentence of an ordinary page.</p>" * 20 + b"</article>"
"""Long enough to do without the word lists of a hundred languages, half a second's work, that short pages bring in."""

Body = bytes | bytearray


class BodyKind(StrEnum):
    """What the bytes of a page are."""

    HTML = "html"
    TEXT = "text"
    TABLE = "table"
    PDF = "pdf"
    WORD = "word"


class Extracted(Model):
    """The readable text of a page as Markdown or plain text; `cut` when it was longer than the program's cap.

    The pages of a PDF are parted by form feeds. `author` and `published` (YYYY-MM-DD) may be empty.
    """

    title: str
    text: str
    author: str = ""
    published: str = ""
    cut: bool = False


class _Refused(Model):
    """Why there is no text."""

    refused: str


_ANSWERS: TypeAdapter[Extracted | _Refused] = TypeAdapter(Extracted | _Refused)


class _Selected(Model):
    """Start and end of each part of a text."""

    parts: tuple[tuple[int, int], ...]


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

    async def extract(self, body: Body, kind: BodyKind, charset: str | None) -> Extracted:
        """The text of a body. Raises ServiceError (Unreadable) when there is none or finding it takes too long."""
        return await self._extract(body, kind, charset, self._deadline)

    async def select(self, text: str, title: str, wanted: str, max_chars: int) -> tuple[tuple[int, int], ...]:
        """Start and end of the parts of a text that matter for `wanted`, as `relevance` has it. Raises as `extract`."""
        job = {"job": "select", "title": title, "wanted": wanted, "max_chars": max_chars}
        answer = await self._answer(job, text.encode("utf-8", "replace"), self._deadline)
        return _Selected.model_validate_json(answer).parts

    async def _extract(self, body: Body, kind: BodyKind, charset: str | None, deadline: timedelta) -> Extracted:
        answer = await self._answer({"job": "extract", "kind": kind, "charset": charset}, body, deadline)
        found = _ANSWERS.validate_json(answer)
        if isinstance(found, _Refused):
            raise ServiceError(found.refused, FailureKind.UNREADABLE)
        return found

    async def _answer(self, job: Mapping[str, object], body: Body, deadline: timedelta) -> bytes:
        seconds = deadline.total_seconds()
        head = json.dumps({**job, "seconds": seconds, "bytes": len(body)}).encode() + b"\n"
        slot = await self._slots.get()
        try:
            answer = await slot.answer(head, body)
        finally:
            self._slots.put_nowait(slot)
        if isinstance(answer, bytes):
            return answer
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

    async def answer(self, head: bytes, body: Body) -> bytes | int:
        """The line that the process answers, or the exit code when it ended instead."""
        process = self._process or await _started()
        self._process = None  # kept again only after its answer: a cancelled job's would reach the next page
        try:
            answer = await _exchange(process, head, body)
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


async def _exchange(process: Process, head: bytes, body: Body) -> bytes | int:
    jobs, answers = _streams(process)
    with suppress(BrokenPipeError, ConnectionResetError):  # it has ended, which reading tells too
        jobs.write(head)
        for at in range(0, len(body), _WRITTEN_AT_ONCE):  # whole, the stream would keep a copy of it
            jobs.write(body[at : at + _WRITTEN_AT_ONCE])
            await jobs.drain()
    return await answers.readline() or await process.wait()


def _streams(process: Process) -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
    assert process.stdin is not None  # both were asked for as pipes
    assert process.stdout is not None
    return process.stdin, process.stdout
