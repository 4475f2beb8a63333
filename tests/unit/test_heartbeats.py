"""The background beater of activities."""

import asyncio
import dataclasses
from datetime import timedelta

from temporalio import activity
from temporalio.testing import ActivityEnvironment

from activities.heartbeats import beating


async def beats_in(seconds: float, allowed: timedelta | None) -> int:
    """How often an activity of this length beats under this heartbeat timeout."""
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, heartbeat_timeout=allowed)
    counted = 0

    def count(*_details: object) -> None:
        nonlocal counted
        counted += 1

    environment.on_heartbeat = count

    @activity.defn
    async def works() -> None:
        async with beating():
            await asyncio.sleep(seconds)

    await environment.run(works)
    return counted


async def test_a_long_call_beats_well_within_its_timeout() -> None:
    """A call three times as long as its heartbeat timeout beats more often than the timeout asks for."""
    assert await beats_in(0.9, timedelta(seconds=0.3)) >= 4


async def test_a_call_that_is_over_sooner_does_not_beat() -> None:
    """A short call costs the server no write, and one without a timeout needs none."""
    assert await beats_in(0.01, timedelta(seconds=60)) == 0
    assert await beats_in(0.01, None) == 0
