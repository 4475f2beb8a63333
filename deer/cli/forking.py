"""`fork`: a new run that keeps the plan, sources and findings which another had before a step."""

from datetime import UTC, datetime

from deer.cli.asking import check_run_id, new_run_id
from deer.cli.exits import ExitCode
from deer.cli.handles import TemporalRun
from deer.cli.printing import Printer
from deer.cli.reading import read_record, read_state
from deer.cli.research import follow_to_stop, leave_in_background
from deer.cli.session import open_session
from deer.cli.starting import start_fork
from deer.config import load_settings
from deer.errors import Refused
from deer.flow import forked


async def fork(
    run_id: str, step_id: str, new_id: str | None, *, auto_accept: bool, detach: bool, as_json: bool
) -> ExitCode:
    """Start a run from what is recorded of another, and follow it. Raises NotFound and Refused with the reason."""
    printer = Printer(as_json=as_json)
    settings = load_settings()
    now = datetime.now(UTC)
    name = check_run_id(new_id) if new_id is not None else new_run_id(now.date())
    async with open_session(settings, runs_worker=not detach, requires_worker=True, writes=True) as session:
        state = await read_state(session.store, run_id)
        if state is None:
            if await read_record(session.store, run_id) is None:
                await TemporalRun(session.client, run_id).standing()  # raises when there is none
                raise Refused(f"run {run_id} has recorded nothing yet: it does at its first stop, or its end")
            raise Refused(f"run {run_id} was recorded by an earlier version, which kept too little to fork from")
        request = state.request.model_copy(update={"auto_accept": auto_accept})
        run = await start_fork(session.client, forked(state, step_id, name, request, now))
        printer.say(f"run {name} started as a fork of {run_id}")
        if detach:
            return await leave_in_background(run, session, settings, printer)
        return await follow_to_stop(run, session, settings, printer)
