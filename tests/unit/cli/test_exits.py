"""Exit codes and the one line that an error is."""

import subprocess
import sys

import pytest

from deer.cli.exits import ExitCode, Unfinished, exit_of_error, exit_of_phase, run_and_report
from deer.errors import (
    DeerError,
    FailureKind,
    InvalidInput,
    NoServer,
    NotFound,
    Refused,
    ServiceError,
    SettingsError,
)
from deer.models import Phase
from tests.unit.cli.commands import command_names


def test_every_phase_has_its_exit_code() -> None:
    """Ends that bring an answer are 0, failed and cancelled 1, waiting for a person 3."""
    codes = {phase: exit_of_phase(phase) for phase in Phase}
    assert {phase for phase, code in codes.items() if code == 1} == {Phase.FAILED, Phase.CANCELLED}
    assert {phase for phase, code in codes.items() if code == 3} == {
        Phase.AWAITING_REVIEW,
        Phase.CLARIFYING,
        Phase.PAUSED,
        Phase.NEEDS_ATTENTION,
    }
    assert codes[Phase.COMPLETED] == codes[Phase.COMPLETED_WITH_GAPS] == codes[Phase.ANSWERED] == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingsError("x"), ExitCode.REFUSED),
        (InvalidInput("x"), ExitCode.REFUSED),
        (Refused("x"), ExitCode.REFUSED),
        (NotFound("x"), ExitCode.NOT_FOUND),
        (NoServer("x"), ExitCode.NO_SERVER),
        (Unfinished("x"), ExitCode.NO_SERVER),
        (ServiceError("x", FailureKind.STORE_UNWRITABLE), ExitCode.FAILED),
    ],
)
def test_every_error_has_its_exit_code(error: DeerError, code: ExitCode) -> None:
    """Refused is 2, not found 4, no server or worker 5, anything else that fails 1."""
    assert exit_of_error(error) == code


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["reserch"],
        ["research"],
        ["research", "q", "--no-such-option"],
        ["approve", "r1", "--revision", "one"],
        ["edit", "r1"],
        ["edit", "r1", "--feedback", " "],
        ["edit", "r1", "--feedback", "x", "--plan", "y"],
        ["edit", "r1", "--plan", "/no/such/plan.yaml"],
        ["answer", "r1", ""],
        ["report", "r1", "--format", "scroll"],
        ["research", ""],
        ["research", "q", "--max-steps", "0"],
        ["research", "q", "--id", "not/a/name"],
        ["research", "q", "--output", "/"],
        ["research", "q", "--output", "/dev/null/report.md"],
        ["research", "-5 degrees: does it work?"],
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is wrong with a command line is told in one line on standard error, and nothing is started."""
    assert run_and_report(arguments) == ExitCode.REFUSED
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith("error: ")
    assert written.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "help_of"), [(["research", "q", "--wrong"], "research --help"), (["wrong"], "starter.py --help")]
)
def test_wrong_usage_leads_to_the_help_that_lists_what_is_right(
    arguments: list[str], help_of: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong option leads to the options of its command, a wrong command to the commands."""
    run_and_report(arguments)
    assert capsys.readouterr().err.endswith(f"{help_of})\n")


def test_the_commands_are_those_of_this_version() -> None:
    """Commands that do not exist yet are not offered."""
    assert command_names() == {
        *("research", "follow", "show", "list", "approve", "edit", "answer", "retry", "report", "audit", "cancel"),
        *("fork", "prune", "pause", "resume", "skip", "add-step", "edit-step", "budget", "finish", "server", "serve"),
    }


def test_a_fault_of_the_program_is_one_line_too() -> None:
    """An error that nobody foresaw is told in one line with its place, without a stack trace, and exit 1."""
    code = "import sys; from deer.cli.exits import report_fault; sys.excepthook = report_fault; 1/0"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == ExitCode.FAILED
    assert ran.stderr == (
        "error: this is a fault of the program, please report it: ZeroDivisionError at <string>:1: division by zero\n"
    )


def test_help_loads_neither_temporal_nor_the_models() -> None:
    """`--help` waits for nothing that only commands need."""
    code = (
        "import sys; from deer.cli import exits; exits.run_and_report(['research', '--help']); "
        "assert not {'asyncio', 'temporalio', 'deer.models', 'rich', 'worker', 'yaml'} & set(sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
