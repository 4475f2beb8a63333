"""Texts that are text already, and tables written as text."""

import csv

from deer.providers.extraction.decoding import decoded
from deer.providers.extraction.extracted import Extracted, Unextractable, extracted
from deer.providers.plain_text import one_line

_DELIMITERS = (",", ";", "\t", "|")
_LOOKED_AT_LINES = 20


def extract_text(body: bytes, charset: str | None) -> Extracted:
    """A text as it is. Its title is a Markdown heading in its first line, else empty."""
    text = decoded(body, charset)
    first_line = text.lstrip().partition("\n")[0]
    return extracted(first_line.lstrip("# ") if first_line.startswith("#") else "", text)


def extract_table(body: bytes, charset: str | None) -> Extracted:
    """Comma-separated values, or values with another delimiter, as a Markdown table whose first row is the head."""
    lines = decoded(body, charset).splitlines()
    try:
        rows = [row for row in csv.reader(lines, delimiter=_delimiter_of(lines)) if any(map(str.strip, row))]
    except csv.Error as error:
        raise Unextractable(f"the table cannot be read ({error})") from None
    return extracted("", markdown_table(rows))


def _delimiter_of(lines: list[str]) -> str:
    """The delimiter that the first lines have most often; each weighed by the line that has it least."""
    looked_at = [line for line in lines[:_LOOKED_AT_LINES] if line.strip()]
    return max(_DELIMITERS, key=lambda mark: min((line.count(mark) for line in looked_at), default=0))


def markdown_table(rows: list[list[str]]) -> str:
    """Rows of cells as a Markdown table, the first of them its head; empty without rows."""
    if not rows:
        return ""
    width = max(map(len, rows))
    lines = ["| " + " | ".join(_cell(cell) for cell in row + [""] * (width - len(row))) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _cell(text: str) -> str:
    return one_line(text).replace("|", "/")
