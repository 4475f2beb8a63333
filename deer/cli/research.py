"""`research` and `follow`: a run from its question to its report, as far as it goes without a person."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from deer.cli.answering import answer_at_terminal
from deer.cli.asking import build_request, check_run_id, new_run_id, read_question
from deer.cli.exits import CALL, CALL_WORKER, ExitCode, Unfinished, exit_of_phase
from deer.cli.following import Follower, Patience
from deer.cli.handles import RunHandle, TemporalRun, no_such_run
from deer.cli.pictures import plan_table, question_text, temporal_page, ways_on
from deer.cli.printing import LineDisplay, LiveDisplay, Printer
from deer.cli.reading import read_record, read_state, read_status, wait_until_closed
from deer.cli.reports import check_output, report_path, save_text, with_path
from deer.cli.reviewing import review_at_terminal
from deer.cli.serving import launch_background_serve
from deer.cli.session import Session, open_session
from deer.cli.starting import start_or_attach
from deer.cli.terminal import RealTerminal, Terminal
from deer.config import Settings, load_settings
from deer.errors import Refused
from deer.models import Kind, Phase, RunStatus
from deer.ports import TextStore

# This command's own worker takes some seconds to load before it answers.
_PATIENCE_EMBEDDED = Patience(before_warning=15)


@dataclass(frozen=True)
class Wishes:
    """What `research` was told besides the request itself. `run_id` None makes a new name."""

    run_id: str | None = None
    detach: bool = False
    documents: Path | None = None
    output: Path | None = None
    as_json: bool = False


async def research(question: str, options: Mapping[str, object], wishes: Wishes) -> ExitCode:
    """Start a run and follow it to its end, or until it waits for a person."""
    printer = Printer(as_json=wishes.as_json)
    settings = load_settings()
    run_id = check_run_id(wishes.run_id) if wishes.run_id is not None else new_run_id(datetime.now(UTC).date())
    if wishes.output is not None:
        check_output(wishes.output)
    words = read_question(question, sys.stdin)
    request = build_request(words, {**_defaults(settings), **_given(options)})
    if settings.temporal.embedded:
        for notice in settings.services(documents=wishes.documents is not None).notices:
            printer.say(f"notice: {notice}")
    async with open_session(settings, runs_worker=not wishes.detach, requires_worker=True, writes=True) as session:
        if wishes.documents is not None:
            from worker import register_documents

            registered = await register_documents(settings, wishes.documents)
            printer.say(f"{registered.documents} documents of {wishes.documents} can be searched")
            for left_out in registered.skipped:
                printer.say(f"notice: {left_out.path} is left out: {left_out.reason}")
            request = request.model_copy(update={"documents": (registered.collection,)})
        if request.after is not None:
            await _require_report(session.store, request.after)
        started = await start_or_attach(session.client, session.store, run_id, request)
        printer.say(f"run {run_id} {'started' if started.is_new else 'is there already, with the same request'}")
        if session.ui_address:
            printer.say(f"in Temporal: {temporal_page(session.ui_address, run_id)}")
        if wishes.detach:
            return await leave_in_background(started.run, session, settings, printer)
        return await follow_to_stop(started.run, session, settings, printer, wishes.output)


async def _require_report(store: TextStore, run_id: str) -> None:
    """Raise NotFound or Refused unless there is a report to follow up on: the new run would only fail on it."""
    record, state = await read_record(store, run_id), await read_state(store, run_id)
    if record is None:
        raise no_such_run(run_id)
    if record.report is None:
        raise Refused(f"--after: run {run_id} has no report to follow up on; it is {record.phase.value}")
    if state is None:
        raise Refused(f"--after: run {run_id} was recorded by an earlier version, which kept too little")


async def follow(run_id: str, output: Path | None, *, as_json: bool) -> ExitCode:
    """Follow a run to its end, or until it waits for a person."""
    settings = load_settings()
    if output is not None:
        check_output(output)
    async with open_session(settings, runs_worker=True) as session:
        run = TemporalRun(session.client, run_id)
        return await follow_to_stop(run, session, settings, Printer(as_json=as_json), output)


async def leave_in_background(run: RunHandle, session: Session, settings: Settings, printer: Printer) -> ExitCode:
    """Let a run go on by itself and say how to come back to it."""
    if session.embedded:
        await launch_background_serve(settings)
    printer.say(f"it goes on in the background; see it with: {CALL} follow {run.id}")
    if printer.as_json:
        printer.status_json(await read_status(run, session.store, asks_worker=not session.embedded))
    else:
        printer.raw(run.id)
    return ExitCode.DONE


async def follow_to_stop(
    run: RunHandle,
    session: Session,
    settings: Settings,
    printer: Printer,
    output: Path | None = None,
    *,
    since: str = "",
) -> ExitCode:
    """Show a run's progress up to its end or to where only a person helps, then its outcome.

    At a terminal it asks the person there what the run asks, and for reviews.

    `since`: the cursor of the progress from which on it is shown.
    """
    follower = Follower(run, no_worker_hint(session), _PATIENCE_EMBEDDED if session.embedded else Patience(), since)
    try:
        status = await _next_stop(run, follower, session, printer)
        while printer.may_ask and await _asked_at_terminal(run, status, RealTerminal(printer.out)):
            status = await _next_stop(run, follower, session, printer)
    except asyncio.CancelledError:
        printer.say(f"stopped watching; run {run.id} keeps its work, go on with: {CALL} follow {run.id}")
        raise
    except Unfinished:
        if printer.as_json:
            printer.status_json(await read_status(run, session.store, asks_worker=False))
        raise
    return show_outcome(status, settings, printer, output)


def show_outcome(status: RunStatus, settings: Settings, printer: Printer, output: Path | None = None) -> ExitCode:
    """Save the report and write what came of the run: report, answer, plan that waits, or the reason of its failure.

    Raises Refused after the writing when the report could not be saved.
    """
    code = exit_of_phase(status.phase)
    for notice in status.notices:
        printer.say(f"notice: {notice}")
    if code is ExitCode.WAITING:
        _say_how_to_go_on(status, printer)
    elif code is ExitCode.FAILED:
        printer.say(f"error: run {status.id} {status.phase.value}: {status.reason or 'no reason was given'}")
    if status.report is None:
        _write(status, status.answer, printer)
        return code
    try:
        path = save_text(output or report_path(settings.data_dir, status.id), status.report.markdown)
        status = with_path(status, path)
        printer.say(f"report saved: {path}")
    finally:
        _write(status, status.report.markdown if status.report else None, printer)
    return code


def no_worker_hint(session: Session) -> str:
    """How to get a worker for this deployment."""
    return f"carry the run on with: {CALL} serve" if session.embedded else f"start a worker with: {CALL_WORKER}"


async def _next_stop(run: RunHandle, follower: Follower, session: Session, printer: Printer) -> RunStatus:
    """Follow until the run ends or waits, as the run itself tells it after the fact."""
    while True:
        phase = await _follow_shown(follower, printer)
        if phase.is_end:
            await wait_until_closed(run)
        status = await read_status(run, session.store)
        if status.phase.is_end or status.phase.waits_for_a_person:
            return status


async def _asked_at_terminal(run: RunHandle, status: RunStatus, terminal: Terminal) -> bool:
    """Whether a person at the terminal has answered what the run waits for."""
    if status.phase is Phase.AWAITING_REVIEW and status.plan is not None:
        return await review_at_terminal(run, status.plan, terminal)
    if status.phase is Phase.CLARIFYING and status.reason:
        return await answer_at_terminal(run, status.reason, terminal)
    return False


async def _follow_shown(follower: Follower, printer: Printer) -> Phase:
    if not printer.err.is_terminal:
        return await follower.until_stop(LineDisplay(printer))
    with LiveDisplay(printer) as display:
        return await follower.until_stop(display, display.show_picture)


def _say_how_to_go_on(status: RunStatus, printer: Printer) -> None:
    printer.say(
        f"run {status.id} waits for you ({status.phase.value}){': ' if status.reason else ''}{status.reason or ''}"
    )
    if printer.as_json:
        for line in ways_on(status):
            printer.say(line)
        return
    if status.phase is Phase.AWAITING_REVIEW and status.plan is not None:
        printer.out.print(plan_table(status.plan, with_status=False))
    if status.phase is Phase.CLARIFYING and status.reason:
        printer.out.print(question_text(status.reason), soft_wrap=not printer.out.is_terminal)
    for line in ways_on(status):
        printer.raw(line)


def _write(status: RunStatus, text: str | None, printer: Printer) -> None:
    if printer.as_json:
        printer.status_json(status)
    elif text:
        printer.document(text)


def _defaults(settings: Settings) -> dict[str, object]:
    """What settings say for a request that does not say otherwise."""
    limits = {f"budget_{kind}": getattr(settings, f"budget_{kind}") for kind in Kind}
    deadline = settings.attention_deadline_seconds
    return {"max_steps": settings.max_plan_steps, "attention_deadline": deadline, **limits}


def _given(options: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}
