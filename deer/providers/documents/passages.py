"""Cutting a document into passages: neighbouring paragraphs under one heading, short enough to be shown as a hit."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

PASSAGE_CHARS = 700
"""Paragraphs are joined up to this length; a longer paragraph is cut at line ends, else where it is full."""

_HEADING = re.compile(r"^(?P<marks>#{1,6})\s+(?P<text>\S.*?)\s*#*\s*$")
_BLANK = re.compile(r"\n[ \t]*\n\s*")


@dataclass(frozen=True)
class Passage:
    """A verbatim part of a document: `text` is `document[start:start + len(text)]`. `heading` may be empty."""

    text: str
    start: int
    heading: str


def passages_of(document: str) -> list[Passage]:
    """The passages of a document in order. Heading lines stand in `heading`, not in the text."""
    return [
        Passage(document[start:end], start, heading)
        for heading, section_start, section_end in _sections(document)
        for start, end in _joined(_paragraphs(document, section_start, section_end))
    ]


def _sections(document: str) -> Iterator[tuple[str, int, int]]:
    """Heading, start and end of the text under each heading; the title of the document is not a heading."""
    heading, start, position = "", 0, 0
    for line in document.splitlines(keepends=True):
        if match := _HEADING.match(line.rstrip("\n")):
            yield heading, start, position
            heading = match["text"] if len(match["marks"]) > 1 else ""
            start = position + len(line)
        position += len(line)
    yield heading, start, position


def _paragraphs(document: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Start and end of each paragraph without the white space around it, long ones in pieces."""
    while start < end:
        blank = _BLANK.search(document, start, end)
        stop = blank.start() if blank else end
        yield from _pieces(document, start, stop)
        start = blank.end() if blank else end


def _pieces(document: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        while start < end and document[start].isspace():
            start += 1
        stop = end
        if end - start > PASSAGE_CHARS:
            stop = _cut_before(document, start, start + PASSAGE_CHARS)
        trimmed = stop
        while trimmed > start and document[trimmed - 1].isspace():
            trimmed -= 1
        if trimmed > start:
            yield start, trimmed
        start = stop


def _cut_before(document: str, start: int, limit: int) -> int:
    """The best place to cut: after a line, else after a sentence, else after a word, else at the limit."""
    for ends in (("\n",), (". ", "。", "！", "？"), (" ",)):
        cut = max(document.rfind(end, start + 1, limit) + len(end) for end in ends)
        if cut > start + 1:
            return cut
    return limit


def _joined(pieces: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    current: tuple[int, int] | None = None
    for start, end in pieces:
        if current and end - current[0] <= PASSAGE_CHARS:
            current = (current[0], end)
            continue
        if current:
            yield current
        current = (start, end)
    if current:
        yield current
