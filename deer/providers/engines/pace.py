"""How fast a search engine is asked, by all runs of a worker together."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

PATIENCE = timedelta(seconds=20)
"""Whoever would wait longer for a turn is turned away, and may ask another engine or come back later."""


class OutOfTurn(Exception):
    """There is no turn within the patience; `wait` is when there may be one."""

    def __init__(self, wait: timedelta) -> None:
        super().__init__(f"no turn for {wait.total_seconds():g} s")
        self.wait = wait


class Pace:
    """Hands out turns: `interval` from the beginning of one to that of the next, `at_once` of them open together.

    `clock` gives seconds.
    """

    def __init__(
        self,
        interval: timedelta = timedelta(0),
        at_once: int = 50,
        patience: timedelta = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._interval = interval.total_seconds()
        self._places = asyncio.Semaphore(at_once)
        self._patience = patience.total_seconds()
        self._clock = clock
        self._last_at = -math.inf
        self._held_until = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn and hold it. Raises OutOfTurn when that would take too long."""
        now = self._clock()
        begins_at = max(now, self._last_at + self._interval, self._held_until)
        self._refuse_beyond(begins_at - now)
        self._last_at = begins_at
        await asyncio.sleep(begins_at - now)
        self._refuse_beyond(self._held_until - self._clock(), patience=0.0)  # asked to, while this one waited
        try:
            async with asyncio.timeout(self._patience - (begins_at - now)):
                await self._places.acquire()
        except TimeoutError:
            raise OutOfTurn(timedelta(seconds=self._interval)) from None
        try:
            yield
        finally:
            self._places.release()

    def hold_back(self, wait: timedelta) -> None:
        """Give no turn for a while, as the engine asked to be left alone."""
        self._held_until = max(self._held_until, self._clock() + wait.total_seconds())

    def set_interval(self, interval: timedelta) -> None:
        """Go on at another pace, as the engine says what it allows."""
        self._interval = interval.total_seconds()

    def _refuse_beyond(self, wait: float, patience: float | None = None) -> None:
        if wait > (self._patience if patience is None else patience):
            raise OutOfTurn(timedelta(seconds=wait))
