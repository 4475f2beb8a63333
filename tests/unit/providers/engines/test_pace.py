"""How fast an engine is asked."""

import asyncio
from datetime import timedelta
from itertools import pairwise

import pytest

from deer.providers.engines.brave import BraveSearch
from deer.providers.engines.pace import OutOfTurn, Pace
from tests.unit.providers.engines.opened import ENGINES, KEY, QUERY
from tests.unit.providers.web_server import Reply, WebServer, always


async def test_turns_begin_apart() -> None:
    """Searches of all runs that come at once are begun one interval after the other."""
    pace = Pace(timedelta(milliseconds=40))
    loop = asyncio.get_running_loop()
    begun: list[float] = []

    async def ask() -> None:
        async with pace.turn():
            begun.append(loop.time())

    await asyncio.gather(*[ask() for _ in range(4)])
    assert all(later - earlier > 0.03 for earlier, later in pairwise(begun))


async def test_so_many_at_once() -> None:
    """No more turns are open together than the engine takes."""
    pace = Pace(at_once=2)
    open_now = most = 0

    async def ask() -> None:
        nonlocal open_now, most
        async with pace.turn():
            open_now += 1
            most = max(most, open_now)
            await asyncio.sleep(0.005)
            open_now -= 1

    await asyncio.gather(*[ask() for _ in range(7)])
    assert most == 2


async def test_who_would_wait_too_long_is_turned_away_at_once() -> None:
    """Beyond its patience nobody waits, and it is said when there may be a turn."""
    pace = Pace(timedelta(seconds=3), patience=timedelta(seconds=2))
    async with pace.turn():
        pass
    with pytest.raises(OutOfTurn) as turned_away:
        async with pace.turn():
            pass
    assert timedelta(seconds=2) < turned_away.value.wait <= timedelta(seconds=3)


async def test_who_waits_while_the_engine_asks_to_be_left_alone_is_turned_away() -> None:
    """A Retry-After that comes while others wait for their turn holds for them too."""
    pace = Pace(timedelta(milliseconds=20))
    async with pace.turn():
        waiting = asyncio.create_task(pace.turn().__aenter__())
        await asyncio.sleep(0)
        pace.hold_back(timedelta(seconds=9))
    with pytest.raises(OutOfTurn):
        await waiting


async def test_a_place_that_does_not_come_free_is_not_waited_for() -> None:
    """An engine that takes one search at a time and is slow turns the next one away after the patience."""
    pace = Pace(at_once=1, patience=timedelta(milliseconds=30))
    async with pace.turn():
        with pytest.raises(OutOfTurn):
            async with pace.turn():
                pass
    async with pace.turn():
        pass


async def test_brave_goes_at_the_pace_of_its_plan() -> None:
    """Begun at one search a second, Brave is asked faster when its answers say that the plan allows it."""
    nothing = ENGINES["brave"].nothing
    fast = Reply(body=nothing.body, headers={"X-RateLimit-Limit": "1000, 0"})
    async with WebServer(always(fast)) as server:
        engine = BraveSearch(KEY, server.url, timedelta(seconds=5), Pace(timedelta(seconds=30)))
        for _ in range(3):
            await engine.search(QUERY)
        await engine.aclose()
    assert len(server.asked) == 3
