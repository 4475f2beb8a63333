"""Watching a run until it ends or waits for a person: one reader that asks the run and its steps what is new."""

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from deer.cli.exits import Unfinished
from deer.cli.handles import RunHandle
from deer.errors import NoServer, NotFound, Refused
from deer.models import Phase, ProgressEntry, ProgressPage, RunStatus


@dataclass(frozen=True)
class Patience:
    """How often to ask, and how long to bear that nobody answers, in seconds.

    Each question costs the worker what a small workflow task costs; asked twice as often, they slow a run by 2 %.

    `between_looks`: how often Temporal is asked whether the run is open while nothing new comes: a run that was ended
    from outside answers as it stood.
    `before_warning`: how long a silence lasts before it is told; more than nothing where a worker is on its way.
    """

    between_questions: float = 1.0
    between_step_questions: float = 2.0
    before_warning: float = 0.0
    between_looks: float = 5.0
    without_answer: float = 60.0


class Display(Protocol):
    """Where progress is shown."""

    def show_entries(self, entries: Iterable[ProgressEntry]) -> None:
        """What happened, oldest first."""
        ...

    def show_warning(self, text: str) -> None:
        """Something the watcher should know that the run did not say."""
        ...


class Follower:
    """Follows one run; it remembers what it has shown, so that it may be asked again after a stop."""

    def __init__(self, run: RunHandle, no_worker_hint: str, patience: Patience | None = None, since: str = "") -> None:
        """`since`: the cursor from which on progress is shown; the empty one shows all of it."""
        self._run = run
        self._hint = no_worker_hint
        self._patience = patience or Patience()
        self._cursor = since
        self._step_cursors: dict[str, str] = {}
        self._step_phases: dict[str, Phase] = {}
        self._steps_asked_at = -math.inf
        self._looked_at = time.monotonic()
        self._silent_since: float | None = None
        self._has_warned = False
        self._is_in_doubt = False
        """Whether a step or the picture was silent: then the run is asked at once whether anybody answers."""

    async def until_stop(self, display: Display, show_picture: Callable[[RunStatus], None] | None = None) -> Phase:
        """Show what happens until the run ends or waits for a person; returns that phase.

        `show_picture`, where there is one, is given the whole run whenever progress was read.
        Raises Unfinished when nobody has answered for as long as patience lasts, and NotFound.
        """
        standing = await self._run.standing()
        if not standing.is_open:
            return standing.phase
        while True:
            asked_at = time.monotonic()
            try:
                page = await self._run.progress(self._cursor)
            except (NoServer, Refused) as silence:
                if stop := await self._stop_without_worker(silence, asked_at, display):
                    return stop
            else:
                await self._show(page, display)
                if show_picture is not None:
                    await self._show_picture(show_picture)
                if (closed := await self._closed_meanwhile(page)) is not None:
                    return closed
                if page.phase.is_end or (page.phase.waits_for_a_person and not self._others_work(page)):
                    return page.phase
            if not self._is_in_doubt:
                await asyncio.sleep(self._patience.between_questions)
            self._is_in_doubt = False

    async def _closed_meanwhile(self, page: ProgressPage) -> Phase | None:
        """The phase of a run that was ended from outside; now and then, while nothing new comes."""
        now = time.monotonic()
        if page.entries or page.phase.is_end or now - self._looked_at < self._patience.between_looks:
            return None
        self._looked_at = now
        with suppress(NoServer):
            standing = await self._run.standing()
            return None if standing.is_open else standing.phase
        return None

    def _others_work(self, page: ProgressPage) -> bool:
        """Whether steps are at work beside the one that needs attention: what they do is worth waiting for."""
        return page.phase is Phase.NEEDS_ATTENTION and any(
            self._step_phases.get(step) is not Phase.NEEDS_ATTENTION for step in page.running_steps
        )

    async def _show(self, page: ProgressPage, display: Display) -> None:
        if self._has_warned:
            display.show_warning("a worker answers again")
        self._silent_since, self._has_warned = None, False
        self._cursor = page.cursor
        entries = [*page.entries, *await self._entries_of_steps(page.running_steps)]
        display.show_entries(sorted(entries, key=lambda entry: entry.at))

    async def _entries_of_steps(self, running: Sequence[str]) -> list[ProgressEntry]:
        """What is new in the steps at work, and the last words of those that ended since they were asked."""
        ended = sorted(set(self._step_cursors) - set(running))
        asked: list[str] = ended
        if time.monotonic() - self._steps_asked_at >= self._patience.between_step_questions:
            self._steps_asked_at = time.monotonic()
            asked = [*ended, *running]
        answers = await asyncio.gather(*(self._step_entries(step) for step in asked))
        for step in ended:
            del self._step_cursors[step]
        return [entry for entries in answers for entry in entries]

    async def _step_entries(self, step: str) -> tuple[ProgressEntry, ...]:
        """What is new in a step. A step that cannot answer now is asked again; its parent tells how it ended."""
        try:
            page = await self._run.progress(self._step_cursors.get(step, ""), step)
        except NoServer:
            self._is_in_doubt = True
            return ()
        except (NotFound, Refused):
            return ()
        self._step_cursors[step] = page.cursor
        self._step_phases[step] = page.phase
        return page.entries

    async def _show_picture(self, show_picture: Callable[[RunStatus], None]) -> None:
        try:
            show_picture(await self._run.status())
        except NoServer:
            self._is_in_doubt = True
        except Refused:
            return  # the next question for progress will say so

    async def _stop_without_worker(
        self, silence: NoServer | Refused, asked_at: float, display: Display
    ) -> Phase | None:
        """The phase of a run that stands still anyway; else None, after saying once that nobody answers."""
        try:
            standing = await self._run.standing()
        except NoServer as error:
            silence = error
        else:
            if not standing.is_open or standing.phase.waits_for_a_person:
                return standing.phase
            if standing.trouble:
                silence = Refused(standing.trouble)
        self._silent_since = self._silent_since or asked_at
        silent_seconds = time.monotonic() - self._silent_since
        if not self._has_warned and silent_seconds >= self._patience.before_warning:
            self._has_warned = True
            display.show_warning(f"{silence}; {self._hint}")
        if silent_seconds >= self._patience.without_answer:
            raise Unfinished(f"gave up after {self._patience.without_answer:.0f} s: {silence}; {self._hint}")
        return None
