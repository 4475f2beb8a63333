"""`report`: a finished report in the form that somebody wants it in."""

import json
from pathlib import Path

from deer.cli.exits import ExitCode
from deer.cli.printing import Printer
from deer.cli.reading import NO_RECORD
from deer.cli.reports import report_path, save_file, save_text, with_saved_path
from deer.cli.runs import read
from deer.cli.session import open_session
from deer.config import load_settings
from deer.errors import InvalidInput, Refused
from deer.exports.content import content_of
from deer.exports.formats import Format, writer_of
from deer.models import RunStatus


async def report(run_id: str, wanted_format: str, output: Path | None, *, as_json: bool) -> ExitCode:
    """Write a run's report to standard output, or into a file.

    A document goes to standard output too, unless that is a terminal: then into the data directory. With `as_json`
    standard output has the report as JSON, with the path of the file that has it in the form that was asked for.

    Raises InvalidInput for an unknown format, Refused for a run that has no report, and SettingsError where a format
    needs an extra that is not installed.
    """
    form = _checked_format(wanted_format)
    write = writer_of(form) if form.is_document else None
    printer = Printer(as_json=as_json)
    settings = load_settings()
    async with open_session(settings, runs_worker=False) as session:
        status = with_saved_path(await read(session, run_id), settings.data_dir)
    content = write(content_of(status, _markdown_of(status))) if write else _as_text(status, form)
    if output is None and form.is_document and (as_json or printer.out.is_terminal):
        output = report_path(settings.data_dir, run_id, form)
    path = None if output is None else _saved(printer, output, content)
    if as_json:
        printer.raw(_as_json(status, path))
    elif path is None:
        _print(printer, content, form)
    return ExitCode.DONE


def _saved(printer: Printer, output: Path, content: str | bytes) -> Path:
    path = save_text(output, content) if isinstance(content, str) else save_file(output, content)
    printer.say(f"report saved: {path}")
    return path


def _print(printer: Printer, content: str | bytes, form: Format) -> None:
    if isinstance(content, bytes):
        printer.file(content)
    elif form is Format.JSON:
        printer.raw(content)
    else:
        printer.document(content)


def _as_text(status: RunStatus, form: Format) -> str:
    return _as_json(status) if form is Format.JSON else _markdown_of(status)


def _checked_format(name: str) -> Format:
    try:
        return Format(name)
    except ValueError:
        raise InvalidInput(f"{name!r} is not known; use {', '.join(Format)}", "--format") from None


def _markdown_of(status: RunStatus) -> str:
    text = status.report.markdown if status.report else status.answer
    if text is None:
        if NO_RECORD in status.notices:
            raise Refused(f"run {status.id} cannot be read: {NO_RECORD}")
        reason = f": {status.reason}" if status.reason else ""
        raise Refused(f"run {status.id} has no report ({status.phase.value}{reason})")
    return text


def _as_json(status: RunStatus, saved: Path | None = None) -> str:
    """The report with what it rests on: `{id, question, markdown, path, claims, sources}`.

    `saved`: the file that was just written; without one the path is that of the report that the run saved, or null.
    """
    markdown = _markdown_of(status)
    as_json = status.model_copy(update={"handoffs": (), "plan": None})
    tree = as_json.model_dump(mode="json", include={"id", "question", "report", "sources"})
    written = tree.pop("report") or {"markdown": markdown, "path": None, "claims": []}
    path = str(saved) if saved else written["path"]
    return json.dumps({**tree, **written, "path": path}, ensure_ascii=False)
