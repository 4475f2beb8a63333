"""The command line. Each command imports what it needs when it runs, so that `--help` answers at once."""

import io
import sys

from deer.cli.exits import report_fault, run_and_report


def main() -> None:
    """Run the command that the process was started with, and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character shows another one instead
            stream.reconfigure(errors="replace")
    sys.excepthook = report_fault
    code = run_and_report(sys.argv[1:])
    if "temporalio" in sys.modules:
        from deer.cli.interrupts import end_process

        end_process(code)
    sys.exit(code)
