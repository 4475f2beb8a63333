"""`approve`, `edit`, `answer` and `cancel`: the human's side of a run, and the way of its messages."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deer.cli.answering import answer_of
from deer.cli.exits import ExitCode
from deer.cli.handles import RunHandle, TemporalRun, no_such_run
from deer.cli.plan_files import read_plan_file
from deer.cli.printing import Printer
from deer.cli.reading import read_record, read_status, wait_until_closed
from deer.cli.research import follow_to_stop, leave_in_background
from deer.cli.reviewing import approval, edit_by_plan, edit_by_words
from deer.cli.session import Session, open_session
from deer.config import load_settings
from deer.errors import InvalidInput, NoServer, NotFound, Refused


async def approve(run_id: str, revision: int | None, *, detach: bool, as_json: bool) -> ExitCode:
    """Accept the plan that waits; with `revision` only if it is that one."""
    return await send(run_id, "review", approval(revision), detach=detach, as_json=as_json)


async def edit(
    run_id: str, feedback: str | None, plan: Path | None, revision: int | None, *, detach: bool, as_json: bool
) -> ExitCode:
    """Change the plan that waits, by words or by another plan. Raises InvalidInput unless exactly one is given."""
    if (feedback is None) == (plan is None):
        raise InvalidInput("give either --feedback TEXT or --plan FILE", "edit")
    if plan is not None:
        review = edit_by_plan(read_plan_file(plan), revision)
    elif feedback is not None and feedback.strip():
        review = edit_by_words(feedback.strip(), revision)
    else:
        raise InvalidInput("the text is empty; say what the plan should change", "--feedback")
    return await send(run_id, "review", review, detach=detach, as_json=as_json)


async def answer(run_id: str, text: str, *, detach: bool, as_json: bool) -> ExitCode:
    """Answer the question that a run asked."""
    return await send(run_id, "answer", answer_of(text), detach=detach, as_json=as_json)


async def cancel(run_id: str, *, as_json: bool) -> ExitCode:
    """End a run; what it has found so far stays in its record."""
    printer = Printer(as_json=as_json)
    async with open_session(load_settings(), runs_worker=True) as session:
        run = TemporalRun(session.client, run_id)
        await _refuse_finished(run, session)
        await run.cancel()
        if session.embedded:  # the worker of this command carries the request out
            await wait_until_closed(run)
        printer.say(f"run {run_id} is being cancelled" if not session.embedded else f"run {run_id} is cancelled")
        if as_json:
            printer.status_json(await read_status(run, session.store, asks_worker=session.has_worker))
    return ExitCode.DONE


async def send(
    run_id: str,
    update: str,
    message: Mapping[str, Any],  # a message of deer.messages
    *,
    detach: bool,
    as_json: bool,
    follows: bool = True,
) -> ExitCode:
    """Send a message, and say what the run did; on the embedded server then follow it to its next stop.

    `detach`: it goes on in the background instead. `follows` False: it stops by what it was told.
    """
    printer = Printer(as_json=as_json)
    settings = load_settings()
    async with open_session(settings, runs_worker=True, requires_worker=True) as session:
        run = TemporalRun(session.client, run_id)
        await _refuse_finished(run, session)
        shown_before = await _cursor_of(run)
        printer.say(f"run {run_id}: {await run.update(update, message)}")
        if session.embedded and follows and not detach:
            return await follow_to_stop(run, session, settings, printer, since=shown_before)
        if session.embedded and follows:
            return await leave_in_background(run, session, settings, printer)
        if as_json:
            printer.status_json(await read_status(run, session.store))
    return ExitCode.DONE


async def _cursor_of(run: RunHandle) -> str:
    """Where the progress of a run stands: what came before was shown by an earlier command."""
    try:
        return (await run.progress("")).cursor
    except (NoServer, Refused):
        return ""


async def _refuse_finished(run: RunHandle, session: Session) -> None:
    """Say that a run is over before Temporal says it in its own words. Raises Refused and NotFound."""
    try:
        standing = await run.standing()
        phase = None if standing.is_open else standing.phase
    except NotFound:
        record = await read_record(session.store, run.id)
        if record is None:
            raise no_such_run(run.id) from None
        if not record.phase.is_end:
            raise Refused(f"Temporal does not know run {run.id} any more; show tells what was saved of it") from None
        phase = record.phase
    if phase is not None:
        raise Refused(f"run {run.id} has already finished ({phase.value})")
