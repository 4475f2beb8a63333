"""`show`, `list` and `report`: looking at runs without changing them."""

import json
from datetime import UTC, datetime
from pathlib import Path

from deer.cli.exits import ExitCode
from deer.cli.handles import TemporalRun
from deer.cli.listing import list_runs
from deer.cli.pictures import list_lines
from deer.cli.printing import Printer
from deer.cli.reading import NO_RECORD, read_status
from deer.cli.reports import save_text, with_saved_path
from deer.cli.session import Session, open_session
from deer.config import load_settings
from deer.errors import InvalidInput, Refused
from deer.models import RunStatus

FORMATS = ("md", "json")
LATER_FORMATS = ("html", "pdf", "docx")


async def show(run_id: str, *, as_json: bool) -> ExitCode:
    """Show what a run is like now."""
    settings = load_settings()
    async with open_session(settings, runs_worker=False) as session:
        status = with_saved_path(await _read(session, run_id), settings.data_dir)
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


async def report(run_id: str, wanted_format: str, output: Path | None, *, as_json: bool) -> ExitCode:
    """Write a run's report to standard output, or into a file.

    Raises InvalidInput for an unknown format and Refused for a run that has no report.
    """
    form = _checked_format("json" if as_json else wanted_format)
    printer = Printer(as_json=as_json)
    settings = load_settings()
    async with open_session(settings, runs_worker=False) as session:
        status = with_saved_path(await _read(session, run_id), settings.data_dir)
    text = _report_json(status) if form == "json" else _report_markdown(status)
    if output is not None:
        printer.say(f"report saved: {save_text(output, text)}")
    elif form == "json":
        printer.raw(text)
    else:
        printer.document(text)
    return ExitCode.DONE


async def _read(session: Session, run_id: str) -> RunStatus:
    return await read_status(TemporalRun(session.client, run_id), session.store, asks_worker=session.has_worker)


def _checked_format(name: str) -> str:
    if name in FORMATS:
        return name
    if name in LATER_FORMATS:
        raise InvalidInput(f"{name} is not available in this version; use {' or '.join(FORMATS)}", "--format")
    raise InvalidInput(f"{name!r} is not known; use {' or '.join(FORMATS)}", "--format")


def _report_markdown(status: RunStatus) -> str:
    text = status.report.markdown if status.report else status.answer
    if text is None:
        if NO_RECORD in status.notices:
            raise Refused(f"run {status.id} cannot be read: {NO_RECORD}")
        reason = f": {status.reason}" if status.reason else ""
        raise Refused(f"run {status.id} has no report ({status.phase.value}{reason})")
    return text


def _report_json(status: RunStatus) -> str:
    """The report with what it rests on: `{id, question, markdown, path, claims, sources}`."""
    markdown = _report_markdown(status)
    as_json = status.model_copy(update={"handoffs": (), "plan": None})
    tree = as_json.model_dump(mode="json", include={"id", "question", "report", "sources"})
    written = tree.pop("report") or {"markdown": markdown, "path": None, "claims": []}
    return json.dumps({**tree, **written}, ensure_ascii=False)
