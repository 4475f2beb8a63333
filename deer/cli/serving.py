"""`server` and `serve`: the embedded Temporal server, alone or with a worker, for as long as somebody wants it."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import typer
from temporalio.client import Client, WorkflowExecution
from temporalio.service import RPCError

from deer.cli.handles import TemporalRun
from deer.cli.interrupts import beside, say, signals_cancel, signals_stop
from deer.cli.session import KEEP_CLOSED_RUNS, SERVER_PATIENCE, keep_server, open_session
from deer.config import Settings
from deer.devserver import ServerClient, ServerHold, hold_server, recorded_server, spawn_in_own_session
from deer.errors import NoServer, NotFound, Refused, SettingsError
from deer.models import Phase
from deer.temporal import RESEARCH_PHASE, connect, keep_closed_runs

STARTER = Path(__file__).parents[2] / "starter.py"
_LAUNCH_PATIENCE = timedelta(seconds=60)
_LOOK_EVERY = timedelta(seconds=1)
_LAUNCH_LOOK_EVERY = timedelta(milliseconds=50)
_OPEN_RUNS = "WorkflowType = 'Research' AND ExecutionStatus = 'Running'"


async def run_server(settings: Settings, port: int | None, *, as_json: bool = False) -> int:
    """Run the server of the data directory until a stop signal, whatever TEMPORAL_ADDRESS says; the exit code.

    `port` None takes a free one. Where commands still use the server at the end, the last of them stops it.
    """
    with signals_cancel():  # from before there is a server, which must not be left alone
        hold = await hold_server(settings.data_dir, port=port)
        try:
            has_ended = await _serve_alone(settings, hold, as_json=as_json)
        finally:
            hold.release()
    if not has_ended:
        say("other commands still use the server; it ends with the last of them")
    return 0


async def _serve_alone(settings: Settings, hold: ServerHold, *, as_json: bool) -> bool:
    """Keep the server until a stop signal; whether it has ended then."""
    stop = asyncio.Event()
    client = await connect(settings, hold.address, patience=SERVER_PATIENCE)
    await keep_closed_runs(client, KEEP_CLOSED_RUNS)
    with signals_stop(stop, hold.release):
        said = f"Temporal server at {hold.address}, web interface at {hold.ui}, data in {settings.data_dir}"
        hint = f"programs elsewhere use it with: TEMPORAL_ADDRESS={hold.address} DEER_STORE=DIRECTORY"
        _announce(hold, f"{said}\n{hint}", as_json=as_json)
        async with beside(keep_server(hold)):
            await stop.wait()
        return await hold.release_and_wait()


async def run_serve(settings: Settings, until_idle: bool, *, as_json: bool = False) -> int:
    """Run server and worker until a stop signal, carrying on all open runs; the exit code.

    With `until_idle` it ends when no open run can go on without a person.
    """
    if not settings.temporal.embedded:
        raise SettingsError("serve runs a server of its own; with TEMPORAL_ADDRESS or TEMPORAL_PROFILE run worker.py")
    stop = asyncio.Event()
    async with open_session(settings, runs_worker=True, writes=True) as session:
        assert session.hold is not None, "without an address a session holds the embedded server"
        with signals_stop(stop, session.hold.release):
            said = f"serving {settings.data_dir} at {session.hold.address}, web interface at {session.ui_address}"
            _announce(session.hold, said, as_json=as_json)
            if until_idle:
                await _wait_until_idle(session.client, session.hold, stop)
            else:
                await stop.wait()
    return 0


async def launch_background_serve(settings: Settings) -> None:
    """Let a process of its own carry the open runs on, until none can go on without a person.

    Returns once that process counts as a client, so that the server outlives this one. Does nothing when there is
    such a process already. Raises NoServer when it does not start.
    """
    if any(client.carries_on for client in _live_clients(settings.data_dir)):
        return
    log = settings.data_dir / "serve.log"
    said_before = log.stat().st_size if log.exists() else 0
    env = {**os.environ, "DEER_DATA_DIR": str(settings.data_dir)}
    served = spawn_in_own_session([sys.executable, str(STARTER), "serve", "--until-idle"], env=env, log=log)
    deadline = time.monotonic() + _LAUNCH_PATIENCE.total_seconds()
    # Not until it says that it carries on: with nothing to do it takes that back at once.
    while all(client.pid != served.pid for client in _live_clients(settings.data_dir)):
        if not served.is_alive or time.monotonic() > deadline:
            lines = log.read_bytes()[said_before:].decode("utf-8", "replace").strip().splitlines()
            said = lines[-1] if lines else "it said nothing"
            raise NoServer(f"the process that carries runs on did not start: {said} (log: {log})")
        await asyncio.sleep(_LAUNCH_LOOK_EVERY.total_seconds())


def _announce(hold: ServerHold, words: str, *, as_json: bool) -> None:
    """Say on standard output where the server is; as JSON `{address, ui}`."""
    typer.echo(json.dumps({"address": hold.address, "ui": hold.ui}) if as_json else words)


def _live_clients(data_dir: Path) -> Sequence[ServerClient]:
    record = recorded_server(data_dir)
    return record.live_clients if record else ()


async def _wait_until_idle(client: Client, hold: ServerHold, stop: asyncio.Event) -> None:
    while not stop.is_set():
        hold.carry_on(until_idle=True)
        while not stop.is_set() and await _has_work(client):
            await _pause(stop)
        # Who starts a run now launches another process; who started one just before still finds it carried on,
        # but the list of runs lags a little behind.
        hold.carry_on(until_idle=False)
        await _pause(stop)
        if not await _has_work(client):
            return


async def _pause(stop: asyncio.Event) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), _LOOK_EVERY.total_seconds())


async def _has_work(client: Client) -> bool:
    """Whether an open run can go on without a person. True also when the server does not say."""
    try:
        async for run in client.list_workflows(_OPEN_RUNS):
            if await _can_go_on(client, run):
                return True
    except RPCError:
        return True  # a server that is being started again; the next look will tell
    return False


async def _can_go_on(client: Client, run: WorkflowExecution) -> bool:
    phase = run.typed_search_attributes.get(RESEARCH_PHASE)
    if phase is None or not Phase(phase).waits_for_a_person:
        return True
    if phase == Phase.NEEDS_ATTENTION:
        return await _has_steps_at_work(TemporalRun(client, run.id))
    return phase == Phase.AWAITING_REVIEW and await _has_deadline(client, run)


async def _has_steps_at_work(run: TemporalRun) -> bool:
    """Whether a step works on beside those that need attention. True also when nobody says, as in a moment."""
    try:
        page = await run.progress("")
        steps = [await run.progress("", step) for step in page.running_steps]
    except (NoServer, NotFound):
        return True
    except Refused:
        return False
    return any(step.phase is not Phase.NEEDS_ATTENTION for step in steps)


async def _has_deadline(client: Client, run: WorkflowExecution) -> bool:
    """Whether the run's request ends the wait for a review by itself."""
    history = client.get_workflow_handle(run.id, run_id=run.run_id).fetch_history_events(page_size=1)
    first = await anext(history)
    given = first.workflow_execution_started_event_attributes.input.payloads
    (asked,) = await client.data_converter.decode(given[:1])
    request = asked.get("request", asked) if isinstance(asked, Mapping) else {}
    return request.get("review_deadline") is not None
