"""What goes to standard output and what to standard error."""

import io
import json

from rich.console import Console
from rich.text import Text

from deer.cli.printing import LineDisplay, LiveDisplay, Printer
from deer.models import HandOff, Phase
from tests.unit.cli.scripted_run import NOON, entry, status

REPORT = "# Title\n\n- one [1]\n"


class Streams:
    """A printer whose two streams can be read back."""

    def __init__(self, *, as_json: bool = False, is_terminal: bool = False) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.printer = Printer(
            as_json=as_json,
            out=Console(file=self.out, force_terminal=is_terminal, width=40),
            err=Console(file=self.err, force_terminal=is_terminal, width=40),
        )


def test_the_status_object_is_one_line_under_its_public_names() -> None:
    """JSON is one line, in any language, with `from` in hand-offs."""
    streams = Streams(as_json=True)
    handoff = HandOff(at=NOON, sender="coordinator", to="planner", reason="研究")
    streams.printer.page(status(Phase.COMPLETED, question="热泵?\nline two", handoffs=(handoff,)))
    written = streams.out.getvalue()
    assert written.count("\n") == 1
    read = json.loads(written)
    assert read["handoffs"][0]["from"] == "coordinator"
    assert read["question"] == "热泵?\nline two"


def test_a_report_is_raw_markdown_where_no_terminal_is() -> None:
    """In a pipe or a file the report is exactly itself; a terminal gets it set."""
    piped, typed = Streams(), Streams(is_terminal=True)
    piped.printer.document(REPORT)
    typed.printer.document(f"{REPORT}\x1b]0;owned\x07")
    assert piped.out.getvalue() == REPORT
    assert "Title" in typed.out.getvalue()
    assert "# Title" not in typed.out.getvalue()
    assert "\x1b]0" not in typed.out.getvalue()


def test_long_lines_are_not_broken_in_pipes() -> None:
    """Progress and lists keep one line for one thing where nobody sets the width."""
    streams = Streams()
    streams.printer.say("word " * 40)
    streams.printer.lines([Text("word " * 40)])
    assert streams.err.getvalue().count("\n") == 1
    assert streams.out.getvalue().count("\n") == 1


def test_lines_of_a_list_are_cut_to_the_terminal() -> None:
    """On a terminal a line of the list never wraps."""
    streams = Streams(is_terminal=True)
    streams.printer.lines([Text("word " * 40)])
    assert streams.out.getvalue().count("\n") == 1
    assert "…" in streams.out.getvalue()


def test_progress_goes_to_standard_error() -> None:
    """Progress leaves standard output to the result."""
    streams = Streams()
    display = LineDisplay(streams.printer)
    display.show_entries([entry("turn 1: [b]searches[/b]", "s1")])
    display.show_warning("no worker answers")
    assert "[s1] turn 1: [b]searches[/b]\n" in streams.err.getvalue()
    assert streams.err.getvalue().endswith("no worker answers\n")
    assert streams.out.getvalue() == ""


def test_the_live_picture_leaves_what_concerns_the_run() -> None:
    """Lines of the run scroll past, those of steps stand in the picture, which is gone in the end."""
    streams = Streams(is_terminal=True)
    with LiveDisplay(streams.printer) as display:
        display.show_entries([entry("plan approved"), entry("turn 1", "s1")])
        display.show_picture(status())
        display.show_warning("no worker answers")
    assert "plan approved" in streams.err.getvalue()
    assert "no worker answers" in streams.err.getvalue()


def test_nobody_is_asked_without_terminals_or_with_json() -> None:
    """The interactive review needs a terminal for what is shown and no JSON."""
    assert not Streams().printer.may_ask
    assert not Streams(as_json=True, is_terminal=True).printer.may_ask
