"""Fewer words for what a role is told at first: its question, step and plan stay, findings and sources get shorter.

Prompts fence what is quoted into blocks `<tag …>`, newline, text, newline, `</tag>`, and no text can hold a tag of
another. So blocks can be found, shortened and left out in the finished message.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from deer.context.digests import last_part, shortened, shortened_json
from deer.wording import word

SHORTENED_BLOCKS: Final = ("source", "summary", "claim", "quote", "reason", "notice", "reply")
PLAN_BLOCKS: Final = ("plan", "earlier_plan")
FEW_CHARS = 400
"""So much of a finding or source is a paragraph: what is shorter is shortened only when nothing else helps."""

_GOES_ON = "written"


def _pattern(*tags: str) -> re.Pattern[str]:
    names = "|".join(tags)
    return re.compile(rf"^(<({names})(?: [^\n]*)?>\n)(.*?)(\n</\2>)$", re.DOTALL | re.MULTILINE)


_BLOCKS = _pattern(*SHORTENED_BLOCKS)
_PLANS = _pattern(*PLAN_BLOCKS)
_WRITTEN = _pattern(_GOES_ON)
_FINDINGS = _pattern("finding")
_QUOTES = _pattern("quote")
_CLAIMS = _pattern("claim")
_SOURCES = _pattern("source")


@dataclass(frozen=True)
class Cut:
    """How short a message is made: the longest text in a block, and how many blocks of a kind are left; None: all."""

    max_chars: int
    quotes: int | None = None
    sources: int | None = None
    claims: int | None = None
    findings: int | None = None


def cuts_for(text: str, *, to_the_bone: bool) -> Iterator[Cut]:
    """Ever harder cuts for a message: the longest blocks first, down to a paragraph each.

    `to_the_bone`: further down, without quotes and with ever fewer sources, claims and at last findings.
    """
    if not to_the_bone:
        lengths = (len(found[3]) for pattern in (_BLOCKS, _WRITTEN) for found in pattern.finditer(text))
        for max_chars in falling(max(lengths, default=0), FEW_CHARS):
            yield Cut(max_chars)
        return
    cut = Cut(FEW_CHARS, quotes=0)
    yield cut
    for max_chars in falling(FEW_CHARS, 100):
        cut = replace(cut, max_chars=max_chars)
        yield cut
    for sources in falling(len(_SOURCES.findall(text)), 0):
        cut = replace(cut, sources=sources)
        yield cut
    for claims in (8, 4, 2, 1, 0):
        cut = replace(cut, claims=claims)
        yield cut
    for max_chars in (*falling(100, 20), 0):
        cut = replace(cut, max_chars=max_chars)
        yield cut
    for findings in falling(len(_FINDINGS.findall(text)), 0):
        cut = replace(cut, findings=findings)
        yield cut


def falling(start: int, end: int) -> Iterator[int]:
    """Three quarters of `start`, of that again, and so on, down to `end` included."""
    while start > end:
        start = max(start * 3 // 4, end)
        yield start


def shorter(text: str, cut: Cut, locale: str) -> str:
    """A message as a cut leaves it; it says wherever something was left out."""
    if cut.findings is not None:
        text = _first(_FINDINGS, text, cut.findings, locale)
    if cut.quotes is not None:
        text = _first(_QUOTES, text, cut.quotes, locale)
    if cut.claims is not None:
        kept = cut.claims
        text = _FINDINGS.sub(lambda found: _first(_CLAIMS, found[0], kept, locale), text)
    if cut.sources is not None:
        text = _first(_SOURCES, text, cut.sources, locale)
    text = _with_contents(_WRITTEN, text, lambda content: last_part(content, max(cut.max_chars, FEW_CHARS), locale))
    text = _with_contents(_BLOCKS, text, lambda content: shortened(content, cut.max_chars, locale))
    return _with_contents(_PLANS, text, lambda content: shortened_json(content, cut.max_chars, locale))


def _with_contents(pattern: re.Pattern[str], text: str, change: Callable[[str], str]) -> str:
    return pattern.sub(lambda found: f"{found[1]}{change(found[3])}{found[4]}", text)


def _first(pattern: re.Pattern[str], text: str, kept: int, locale: str) -> str:
    """The text with the first blocks of a pattern only; one line in place of the others says how many there were."""
    blocks = list(pattern.finditer(text))
    if len(blocks) <= kept:
        return text
    parts, end = [], 0
    for block in blocks[kept:]:
        parts.append(text[end : block.start()].removesuffix("\n"))
        end = block.end()
    note = word("left_out", locale, what=f"{len(blocks) - kept} × {blocks[0][2]}")
    return f"{parts[0]}\n{note}{''.join(parts[1:])}{text[end:]}"
