"""Reasoning that models write into their answer between tags, taken out of it."""

import re

_NAMES = "think|thinking|thought|seed:think"
# Only at the start of a line: a text may well speak of such tags, and then they stand within a sentence.
_OPENING = re.compile(rf"^[ \t]*<({_NAMES})>", re.IGNORECASE | re.MULTILINE)
_ANY_OPENING = re.compile(rf"<(?:{_NAMES})>", re.IGNORECASE)
_CLOSING = re.compile(rf"(?<!`)</(?:{_NAMES})>(?!`)", re.IGNORECASE)


def without_thoughts(text: str) -> str:
    """The text without blocks of reasoning; without any it comes back as it was.

    A block begins at the start of a line. One that is never closed reaches to the end of the text, and one that was
    never opened, as chat templates that open it themselves leave it, begins at the start of the text.
    """
    if "<" not in text or not (_ANY_OPENING.search(text) or _CLOSING.search(text)):
        return text
    remaining = _without_unopened(_without_opened(text))
    return remaining if remaining == text else remaining.strip()


def _without_opened(text: str) -> str:
    kept = []
    at = 0
    while opening := _OPENING.search(text, at):
        kept.append(text[at : opening.start()])
        closing = re.compile(rf"</{opening[1]}>", re.IGNORECASE).search(text, opening.end())
        if closing is None:
            return "".join(kept)
        at = closing.end()
    return "".join([*kept, text[at:]])


def _without_unopened(text: str) -> str:
    start = at = 0
    while closing := _CLOSING.search(text, at):
        at = closing.end()
        if not _ANY_OPENING.search(text, start, closing.start()):
            start = at
    return text[start:]
