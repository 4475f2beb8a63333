"""What a command writes: results on standard output, everything else on standard error."""

import json
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from deer.cli.exits import one_line
from deer.cli.pictures import entry_line, live_picture, run_page
from deer.models import ProgressEntry, RunStatus


class Printer:
    """The two streams of a command. With `as_json` standard output carries JSON only."""

    def __init__(self, *, as_json: bool, out: Console | None = None, err: Console | None = None) -> None:
        self.as_json = as_json
        self.out = out or Console(soft_wrap=False, highlight=False)
        self.err = err or Console(stderr=True, highlight=False)

    @property
    def may_ask(self) -> bool:
        """Whether a person sits at both ends and may be asked."""
        return not self.as_json and self.out.is_terminal and sys.stdin.isatty()

    def say(self, text: str) -> None:
        """One line on standard error."""
        self.err.print(one_line(text), markup=False, soft_wrap=True)

    def raw(self, text: str) -> None:
        """A text on standard output exactly as it is, ended by a line break."""
        self.out.file.write(text if text.endswith("\n") else f"{text}\n")
        self.out.file.flush()

    def file(self, content: bytes) -> None:
        """A file's content on standard output, for where that leads into a file or another program."""
        self.out.file.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()

    def lines(self, lines: Iterable[Text]) -> None:
        """Lines on standard output, cut to the width of a terminal and whole elsewhere."""
        for line in lines:
            if self.out.is_terminal:
                self.out.print(line, no_wrap=True, overflow="ellipsis")
            else:
                self.out.print(line, soft_wrap=True)

    def json(self, value: Any) -> None:  # anything that JSON can hold
        """A value as one line of JSON on standard output."""
        self.raw(json.dumps(value, ensure_ascii=False))

    def status_json(self, status: RunStatus) -> None:
        """The status object as the last line of standard output."""
        self.raw(status.model_dump_json(by_alias=True))

    def page(self, status: RunStatus, ui_address: str | None = None) -> None:
        """A run on standard output, for a person or as its JSON object."""
        if self.as_json:
            self.status_json(status)
        else:
            # A line to type or an address must not be broken where a program reads it.
            self.out.print(run_page(status, datetime.now(UTC), ui_address), soft_wrap=not self.out.is_terminal)

    def document(self, markdown: str) -> None:
        """A report on standard output: set for reading on a terminal, raw Markdown elsewhere."""
        if not self.out.is_terminal:
            self.raw(markdown)
            return
        from rich.markdown import Markdown  # loads what colours code, which only reports need

        lines = ("".join(char if char.isprintable() else " " for char in line) for line in markdown.splitlines())
        self.out.print(Markdown("\n".join(lines)))


class LineDisplay:
    """Progress as lines on standard error."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer

    def show_entries(self, entries: Iterable[ProgressEntry]) -> None:
        for entry in entries:
            self._printer.say(entry_line(entry))

    def show_warning(self, text: str) -> None:
        self._printer.say(text)


class LiveDisplay:
    """Progress as a picture that stays in place on a terminal. Use as a context manager around the following."""

    def __init__(self, printer: Printer) -> None:
        self._live = Live(console=printer.err, refresh_per_second=4, transient=True)
        self._latest: dict[str, ProgressEntry] = {}
        self._printer = printer

    def __enter__(self) -> "LiveDisplay":
        self._live.start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._live.stop()

    def show_entries(self, entries: Iterable[ProgressEntry]) -> None:
        for entry in entries:
            if entry.step_id:
                self._latest[entry.step_id] = entry
            else:
                self._printer.say(entry_line(entry))

    def show_picture(self, status: RunStatus) -> None:
        """The whole run as it is now."""
        self._live.update(live_picture(status, self._latest.values()))

    def show_warning(self, text: str) -> None:
        self._printer.say(text)
