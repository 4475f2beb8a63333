"""Waiting for what must come true, in place of sleeps that guess."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar, overload

T = TypeVar("T")


@dataclass(frozen=True)
class Shortfall:
    """What a look found to be amiss: counts as not true, and is told when the wait fails."""

    found: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return self.found


SLOW_MACHINE_S = 20.0
"""How long anything may take on a busy machine before a test calls it missing."""


@overload
async def eventually(look: Callable[[], Coroutine[Any, Any, T | None]], what: str, within_s: float = ...) -> T: ...
@overload
async def eventually(look: Callable[[], T | None], what: str, within_s: float = ...) -> T: ...
async def eventually(look: Callable[[], Any], what: str, within_s: float = SLOW_MACHINE_S) -> Any:  # see the overloads
    """The first true value that `look` gives; AssertionError naming `what` when none comes in time."""
    deadline = time.monotonic() + within_s
    while True:
        seen = look()
        value = await seen if isinstance(seen, Awaitable) else seen
        if value:
            return value
        assert time.monotonic() < deadline, f"{what} did not come about within {within_s:g} s{_told(value)}"
        await asyncio.sleep(0.04)


def _told(value: object) -> str:
    return f": {value}" if isinstance(value, Shortfall) else ""


async def always(look: Callable[[], bool], what: str, for_s: float) -> None:
    """See to it that `look` stays true for so many seconds; AssertionError naming `what` when it does not."""
    until = time.monotonic() + for_s
    while time.monotonic() < until:
        assert look(), f"{what} came to an end"
        await asyncio.sleep(0.04)
