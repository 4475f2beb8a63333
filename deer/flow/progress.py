"""Live progress: the latest lines of what a run or a step does, read page by page."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel

from deer.models import ProgressEntry

MAX_ENTRIES = 500
"""Lines that are kept; older ones are dropped."""

MAX_ENTRY_CHARS = 300
_MAX_CURSOR_CHARS = 12


class ProgressLog(BaseModel):
    """Lines of live progress. A cursor is the number of lines there were; `dropped` of them are gone."""

    entries: tuple[ProgressEntry, ...] = ()
    dropped: int = 0

    def add(self, at: datetime, text: str, step_id: str | None = None) -> None:
        """One more line; what is longer than a line is cut."""
        line = " ".join(text.split())[:MAX_ENTRY_CHARS]
        entries = (*self.entries, ProgressEntry(at=at, text=line, step_id=step_id))
        self.dropped += max(0, len(entries) - MAX_ENTRIES)
        self.entries = entries[-MAX_ENTRIES:]

    @property
    def cursor(self) -> str:
        """To ask with for what comes next."""
        return str(self.dropped + len(self.entries))

    def since(self, cursor: Any) -> tuple[ProgressEntry, ...]:  # as Temporal delivered it
        """What was added after a cursor. What is no cursor asks from the beginning of what is kept."""
        is_cursor = isinstance(cursor, str) and cursor.isdecimal() and len(cursor) <= _MAX_CURSOR_CHARS
        return self.entries[max(0, int(cursor) - self.dropped) :] if is_cursor else self.entries
