"""What a command works with: a connection to Temporal, the store, and in embedded mode a server and a worker."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio.client import Client

from deer.cli.exits import CALL, CALL_WORKER
from deer.cli.interrupts import DRAINING, beside, say, signals_cancel, signals_leave
from deer.cli.logs import logged_to, not_logged
from deer.config import Settings
from deer.devserver import ServerHold, hold_server, recorded_server
from deer.errors import NoServer
from deer.ports import PrunableStore
from deer.temporal import RESEARCH_QUEUE, connect, has_poller, keep_closed_runs

Work = Callable[[Settings, Client, asyncio.Event], Coroutine[Any, Any, None]]  # coroutines take nothing
"""Runs a worker until the event is set, then lets calls in flight finish."""

SERVER_PATIENCE = timedelta(seconds=30)
_LOOK_EVERY = timedelta(seconds=1)
WORKER_PATIENCE = timedelta(seconds=3)
LOOK_AGAIN = timedelta(seconds=0.25)
# The data directory is a person's own: what it holds stays until they delete it.
KEEP_CLOSED_RUNS = timedelta(days=3650)


@dataclass(frozen=True)
class Session:
    """A command's connection.

    `ui_address`: the web interface of the embedded server, None elsewhere. `other_worker`: whether another process
    was recorded with a worker. `hold`: this process's use of the embedded server, None elsewhere.
    """

    client: Client
    store: PrunableStore
    embedded: bool
    ui_address: str | None
    has_worker: bool = True
    """Whether queries can expect an answer; True where nobody looked."""
    other_worker: bool = False
    hold: ServerHold | None = None


@asynccontextmanager
async def open_session(
    settings: Settings,
    *,
    runs_worker: bool,
    starts_server: bool = True,
    requires_worker: bool = False,
    writes: bool = False,
    work: Work | None = None,
) -> AsyncIterator[Session]:
    """Connect a command, for as long as the context lasts.

    In embedded mode the server of the data directory is used, and started if `starts_server`. With `runs_worker`
    this process runs a worker whenever no other process is recorded with one, also when that one leaves later; it
    does `work`, the product's own worker when None.
    With a Temporal address nothing is started; `requires_worker` looks for one first.

    `writes`: what the command begins needs a store that can be written to, which is looked at before anything starts.

    Ctrl-C, SIGTERM and a closed terminal end the block: calls in flight finish, a second signal does not wait for
    them. Raises NoServer, and SettingsError when settings cannot be used.
    """
    if settings.temporal.embedded:
        if writes:
            from worker import require_writable_store

            await require_writable_store(settings)
        if not starts_server and recorded_server(settings.data_dir) is None:
            raise NoServer(f"no embedded server runs for {settings.data_dir}; start one with: {CALL} serve")
        with signals_cancel():  # from before there is a server, which must not be left alone
            async with _embedded_session(settings, (work or _research_work) if runs_worker else None) as session:
                yield session
    else:
        with not_logged():
            store = _store(settings)
            client = await connect(settings, store=store)
            if requires_worker:
                await _require_worker(client)
            yield Session(client, store, embedded=False, ui_address=None)


async def _require_worker(client: Client) -> None:
    """Raise NoServer within 5 s unless a worker polls. One that is just coming up is given a moment."""
    give_up_at = time.monotonic() + WORKER_PATIENCE.total_seconds()
    while not await has_poller(client):
        if time.monotonic() > give_up_at:
            raise _no_worker(client)
        await asyncio.sleep(LOOK_AGAIN.total_seconds())


@asynccontextmanager
async def _embedded_session(settings: Settings, work: Work | None) -> AsyncIterator[Session]:
    store = _store(settings)
    if work is _research_work and not _is_worked_for(settings):
        from worker import load_worker

        asyncio.get_running_loop().run_in_executor(None, load_worker, settings)  # while the server starts
    hold = await hold_server(settings.data_dir)
    try:
        with logged_to(settings.data_dir / "worker.log"):
            client = await connect(settings, hold.address, store=store, patience=SERVER_PATIENCE)
            await keep_closed_runs(client, KEEP_CLOSED_RUNS)
            other_worker = _is_worked_for(settings)
            session = Session(
                client,
                store,
                embedded=True,
                ui_address=hold.ui,
                has_worker=other_worker or work is not None,
                other_worker=other_worker,
                hold=hold,
            )
            async with beside(keep_server(hold)), _worked_for(settings, hold, client, work):
                yield session
    finally:
        hold.release()


def _is_worked_for(settings: Settings) -> bool:
    """Whether a process is recorded that runs a worker of the embedded server."""
    record = recorded_server(settings.data_dir)
    return record is not None and record.has_worker


async def keep_server(hold: ServerHold) -> None:
    """Start the server again whenever it was killed."""
    while True:
        await asyncio.sleep(_LOOK_EVERY.total_seconds())
        await hold.revive()


@asynccontextmanager
async def _worked_for(settings: Settings, hold: ServerHold, client: Client, work: Work | None) -> AsyncIterator[None]:
    """Run a worker here whenever nobody else does; at the end let its calls finish."""
    if work is None:
        yield
        return
    stop = asyncio.Event()
    async with beside(_work_when_nobody_does(settings, hold, client, work, stop)) as working:
        was_interrupted = False
        try:
            yield
        except asyncio.CancelledError:
            was_interrupted = True
            raise
        finally:
            with signals_leave(hold.release):
                if was_interrupted and not working.done():
                    say(DRAINING)
                hold.stop_working()  # before the calls have finished, so that another process takes over at once
                stop.set()
                await asyncio.wait([working])


async def _work_when_nobody_does(
    settings: Settings, hold: ServerHold, client: Client, work: Work, stop: asyncio.Event
) -> None:
    while not stop.is_set():
        if hold.start_working():
            await work(settings, client, stop)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _LOOK_EVERY.total_seconds())


async def _research_work(settings: Settings, client: Client, stop: asyncio.Event) -> None:
    from worker import run_worker

    await run_worker(settings, client, stop)


def _no_worker(client: Client) -> NoServer:
    address = client.service_client.config.target_host
    return NoServer(f"no worker polls queue '{RESEARCH_QUEUE}' at {address}; start one with: {CALL_WORKER}")


def _store(settings: Settings) -> PrunableStore:
    from worker import open_store

    return open_store(settings)
