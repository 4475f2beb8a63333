"""The background beater: a worker that dies is noticed within the heartbeat timeout, however long the call."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from temporalio import activity


@asynccontextmanager
async def beating() -> AsyncIterator[None]:
    """Heartbeat at each third of the timeout until the block ends; a shorter call costs the server no write."""
    timeout = activity.info().heartbeat_timeout
    if timeout is None:
        yield
        return
    pulse = asyncio.create_task(_beat(timeout.total_seconds() / 3))
    try:
        yield
    finally:
        pulse.cancel()
        with suppress(asyncio.CancelledError):
            await pulse


async def _beat(pause_seconds: float) -> None:
    while True:
        await asyncio.sleep(pause_seconds)
        activity.heartbeat()
