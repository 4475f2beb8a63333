"""`show` and `list`: looking at runs without changing them."""

from datetime import UTC, datetime

from deer.cli.exits import ExitCode
from deer.cli.handles import TemporalRun
from deer.cli.listing import list_runs
from deer.cli.pictures import list_lines
from deer.cli.printing import Printer
from deer.cli.reading import read_status
from deer.cli.reports import with_saved_path
from deer.cli.session import Session, open_session
from deer.config import load_settings
from deer.models import RunStatus


async def show(run_id: str, *, as_json: bool) -> ExitCode:
    """Show what a run is like now."""
    settings = load_settings()
    async with open_session(settings, runs_worker=False) as session:
        status = with_saved_path(await read(session, run_id), settings.data_dir)
        Printer(as_json=as_json).page(status, session.ui_address)
    return ExitCode.DONE


async def list_all(*, as_json: bool) -> ExitCode:
    """Show all runs; with `as_json` one array."""
    printer = Printer(as_json=as_json)
    async with open_session(load_settings(), runs_worker=False) as session:
        runs = await list_runs(session.client, session.store)
    if as_json:
        printer.json([run.as_json() for run in runs])
    elif runs:
        printer.lines(list_lines(runs, datetime.now(UTC)))
    else:
        printer.say("there are no runs yet")
    return ExitCode.DONE


async def read(session: Session, run_id: str) -> RunStatus:
    """The status of a run as `read_status` gives it, asking a worker only where there is one."""
    return await read_status(TemporalRun(session.client, run_id), session.store, asks_worker=session.has_worker)
