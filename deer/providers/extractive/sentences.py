"""Cutting a text into sentences and table rows that can be quoted: each is an exact part of the text."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deer.providers.terms import CJK

MAX_QUOTE_CHARS = 440
"""Longer sentences are not quoted: they are lists, logs or lines without an end. With a title in front, the text of a
claim stays below the 600 characters that a claim may have."""

_MIN_CHARS, _MIN_DENSE_CHARS = 12, 8
_HEADING = re.compile(r"^#{1,6}\s+(?P<text>\S.*?)\s*#*\s*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_QUOTE_MARK = re.compile(r"^\s*>\s?")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_SENTENCE_END = re.compile(
    r"[。！？]+[”』」）)\"]*|[.!?]+[”\")\]]*(?=\s+[\"“(\[]?[A-Z0-9\u00c0-\u024f" + CJK + r"]|\s*$)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|ca|fig|no|nos|dr|mr|mrs|ms|prof|st|vol|inc|ltd|co|al|dept|est|min|max)"
    r"|(?<![\d°] )(?<![\d°])(?-i:\b[A-Z](?:\.[A-Z])*))\.$",
    re.IGNORECASE,
)
_FULL_STOP = re.compile(r"[.!?。！？…][”』」）)\"'\]*_]*$")
_HAS_CJK = re.compile(f"[{CJK}]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Sentence:
    """A sentence or a table row. `quote` is an exact part of its text, `text` the same for reading.

    `heading` is the one that it stands under, with the head of the first column for a row.
    `extended` is the quote together with the sentence before it in the paragraph, empty at the paragraph's start.
    """

    quote: str
    text: str
    heading: str
    position: int
    extended: str = ""
    is_row: bool = False


@dataclass(frozen=True)
class _Line:
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def sentences_of(text: str, *, is_csv: bool = False) -> list[Sentence]:
    """The quotable sentences and table rows of Markdown, plain or CSV text, in order."""
    lines = _lines(text)
    found = _csv_rows(lines) if is_csv else _Markdown(text, lines).sentences()
    return [sentence for sentence in found if _is_quotable(sentence)]


def readable(quote: str) -> str:
    """A quote without line breaks, markup and what could be taken for a citation."""
    text = re.sub(r"\n[ \t]*>[ \t]?", "\n", quote)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]+)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)", r"\1", text)
    text = re.sub(r"<[^<>\s][^<>]*>", "", text)
    text = re.sub(r"(\*\*|__|~~)(?=\S)(.+?)(?<=\S)\1", r"\2", text, flags=re.DOTALL)
    text = re.sub(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])", r"\1", text)
    text = text.replace("[", "(").replace("]", ")")
    if "``" in text or text.count("`") % 2:
        text = text.replace("`", "'")  # an open code span would swallow the citation behind it
    text = re.sub(rf"(?<=[{CJK}，。；：、])\s*\n\s*(?=[{CJK}])", "", text)
    return " ".join(text.split())


def is_cjk(text: str) -> bool:
    """Whether a text is written in Chinese, Japanese or Korean, at least in part."""
    return bool(_HAS_CJK.search(text))


def closed(text: str) -> str:
    """The text with a full stop where it has no end of its own."""
    if _FULL_STOP.search(text):
        return text
    return text.rstrip(" ;,:；，：、") + ("。" if is_cjk(text) else ".")


def _lines(text: str) -> list[_Line]:
    lines, start = [], 0
    for line in text.split("\n"):
        lines.append(_Line(start, line))
        start += len(line) + 1
    return lines


def _is_quotable(sentence: Sentence) -> bool:
    shortest = _MIN_DENSE_CHARS if sentence.is_row or is_cjk(sentence.quote) else _MIN_CHARS
    if not shortest <= len(sentence.quote) <= MAX_QUOTE_CHARS or _CONTROLS.search(sentence.quote):
        return False
    return sentence.is_row or not sentence.quote.rstrip("*_").endswith((":", "："))


class _Markdown:
    """Walks over the lines of a Markdown or plain text."""

    def __init__(self, text: str, lines: Sequence[_Line]) -> None:
        self._text = text
        self._lines = lines
        self._heading = ""

    def sentences(self) -> Iterator[Sentence]:
        at = self._after_front_matter()
        while at < len(self._lines):
            line = self._lines[at].text
            if match := _HEADING.match(line):
                self._heading = readable(match["text"])
                at += 1
            elif _FENCE.match(line):
                at = self._after_fence(at)
            elif self._starts_table(at):
                end = self._table_end(at)
                yield from self._rows(at, end)
                at = end
            elif not line.strip():
                at += 1
            else:
                end = self._paragraph_end(at)
                yield from self._paragraph(at, end)
                at = end

    def _after_front_matter(self) -> int:
        if self._lines[0].text.strip() != "---":
            return 0
        closing = (at for at in range(1, min(len(self._lines), 60)) if self._lines[at].text.strip() == "---")
        return next(closing, -1) + 1

    def _after_fence(self, at: int) -> int:
        closing = (after for after in range(at + 1, len(self._lines)) if _FENCE.match(self._lines[after].text))
        return next(closing, len(self._lines)) + 1

    def _starts_table(self, at: int) -> bool:
        following = self._lines[at + 1].text if at + 1 < len(self._lines) else ""
        return "|" in self._lines[at].text and "|" in following and bool(_TABLE_RULE.match(following))

    def _table_end(self, at: int) -> int:
        end = at + 2
        while end < len(self._lines) and "|" in self._lines[end].text:
            end += 1
        return end

    def _rows(self, at: int, end: int) -> Iterator[Sentence]:
        header = _cells(self._lines[at].text)
        for line in self._lines[at + 2 : end]:
            quote = line.text.strip()
            if row := row_text(header, _cells(quote)):
                yield Sentence(quote, row, f"{self._heading} {header[0]}".strip(), line.start, is_row=True)

    def _paragraph_end(self, at: int) -> int:
        end = at + 1
        while end < len(self._lines):
            line = self._lines[end].text
            begins_other = _LIST_MARK.match(line) or _HEADING.match(line) or _FENCE.match(line)
            if not line.strip() or begins_other or self._starts_table(end):
                break
            end += 1
        return end

    def _paragraph(self, at: int, end: int) -> Iterator[Sentence]:
        first = self._lines[at]
        mark = _LIST_MARK.match(first.text) or _QUOTE_MARK.match(first.text)
        start, stop = first.start + (mark.end() if mark else 0), self._lines[end - 1].end
        before: int | None = None
        for span_start, span_end in _spans(self._text, start, stop):
            quote = self._text[span_start:span_end]
            extended = self._text[before:span_end] if before is not None else ""
            yield Sentence(quote, closed(readable(quote)), self._heading, span_start, extended)
            before = span_start


def _spans(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence between two places of a text, without the white space around it."""
    begin = start
    for match in _SENTENCE_END.finditer(text, start, stop):
        if match.group().startswith(".") and _ABBREVIATION.search(text, max(begin, match.end() - 12), match.end()):
            continue
        yield from _trimmed(text, begin, match.end())
        begin = match.end()
    yield from _trimmed(text, begin, stop)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [readable(cell.replace("\\|", "|")) for cell in re.split(r"(?<!\\)\|", inner)]


def _csv_rows(lines: Sequence[_Line]) -> Iterator[Sentence]:
    """Rows that stand on one line each; a cell with a line break in it is passed over."""
    header: list[str] | None = None
    for line in lines:
        if not line.text.strip() or line.text.count('"') % 2:
            continue
        cells = [readable(cell) for cell in next(csv.reader([line.text], delimiter=_delimiter(lines[0].text)))]
        if header is None:
            header = cells
        elif len(cells) == len(header) and (row := row_text(header, cells)):
            yield Sentence(line.text, row, header[0], line.start, is_row=True)


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def row_text(header: Sequence[str], cells: Sequence[str]) -> str:
    """A table row as a sentence, each cell with the head of its column; empty when the row says nothing."""
    filled = [(head, cell) for head, cell in zip(header, cells, strict=False) if cell and cell not in {"-", "–", "—"}]
    if len(filled) < 2:
        return ""
    in_cjk = is_cjk("".join(header))
    colon, semicolon = ("：", "；") if in_cjk else (": ", "; ")
    (label_head, label), *rest = filled
    if label[0] in "+-−±<>≤≥~" or label[0].isdigit():
        label = f"{label_head}{'' if in_cjk else ' '}{label}".strip()
    said = semicolon.join(f"{head}{' ' if head and not in_cjk else ''}{cell}" for head, cell in rest)
    return closed(f"{label}{colon}{said}")
