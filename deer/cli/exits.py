"""How a command ends: an exit code, and for errors one line on standard error."""

import os
import sys
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from shutil import which
from types import TracebackType
from typing import TYPE_CHECKING

from deer.errors import DeerError, InvalidInput, NoServer, NotFound, Refused, SettingsError

if TYPE_CHECKING:
    from typer import TyperException

    from deer.models import Phase

PROGRAM = "starter.py"


def _uv_run() -> str:
    """How a person runs a program of the checkout: with their own uv, else with the one in the environment."""
    own = str(Path(sys.prefix) / "bin")  # `uv run` puts it on the PATH, on which the person's shell does not have it
    path = os.pathsep.join(part for part in os.environ.get("PATH", "").split(os.pathsep) if part != own)
    return "uv run" if which("uv", path=path) or not Path(own, "uv").exists() else ".venv/bin/uv run"


CALL = f"{_uv_run()} {PROGRAM}"
"""How a person calls the program from the checkout, for lines that say what to type."""
CALL_WORKER = f"{_uv_run()} worker.py"


class ExitCode(IntEnum):
    """What the exit code of a command says."""

    DONE = 0
    FAILED = 1
    REFUSED = 2
    WAITING = 3
    NOT_FOUND = 4
    NO_SERVER = 5
    INTERRUPTED = 130


class Unfinished(NoServer):
    """A run was shown as far as it is known, but nothing carries it on; the output is already complete."""


def exit_of_phase(phase: "Phase") -> ExitCode:
    """The code of a command that followed a run up to this phase; a run still at work counts as done."""
    if phase.waits_for_a_person:
        return ExitCode.WAITING
    return ExitCode.FAILED if phase in {"failed", "cancelled"} else ExitCode.DONE


def exit_of_error(error: DeerError) -> ExitCode:
    """The code of a command that ended with an error."""
    if isinstance(error, SettingsError | InvalidInput | Refused):
        return ExitCode.REFUSED
    if isinstance(error, NotFound):
        return ExitCode.NOT_FOUND
    return ExitCode.NO_SERVER if isinstance(error, NoServer) else ExitCode.FAILED


def run_and_report(arguments: Sequence[str]) -> int:
    """Run a command; errors become one line on standard error. Returns the exit code."""
    import typer
    from typer.main import get_command

    from deer.cli.app import app

    try:
        return int(get_command(app).main(args=list(arguments), prog_name=PROGRAM, standalone_mode=False) or 0)
    except typer.TyperException as error:
        dashed = "; a text that begins with a dash goes after --" if "No such option" in error.message else ""
        return _report(f"{error.format_message()}{dashed} (see: {_help_for(error)})", error.exit_code)
    except typer.Abort:
        return ExitCode.INTERRUPTED
    except DeerError as error:
        return _report(str(error), exit_of_error(error))
    except OSError as error:
        return _report(f"{error.filename or 'the system'}: {error.strerror or error}", ExitCode.FAILED)


def _help_for(error: "TyperException") -> str:
    """The call that lists the options of the command that was called wrongly, else the commands."""
    context = getattr(error, "ctx", None)  # known to errors of usage only
    command = context.command_path.removeprefix(PROGRAM) if context else ""
    return f"{CALL}{command} --help"


def one_line(text: str) -> str:
    """A text without line breaks and control characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _report(message: str, code: int) -> int:
    sys.stderr.write(f"error: {one_line(message)}\n")
    return code


def report_fault(kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
    """What a fault of the program itself looks like to a person: where it is, in one line."""
    import traceback

    frames = traceback.extract_tb(trace)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    _report(f"this is a fault of the program, please report it: {kind.__name__}{place}: {fault}", ExitCode.FAILED)
