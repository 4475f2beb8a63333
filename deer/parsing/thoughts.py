"""Thoughts that models write between tags into their text, told apart from the answer.

A text for people is without those that begin a line (`without_thoughts`): a text may well speak of such tags. Where
JSON is looked for, and in what is kept of a bad reply, tags count wherever they stand (`answer_of`).
"""

import re

_THOUGHT_TAG = re.compile(r"<(/?)\s{0,3}(?:think|thinking|thoughts?|reasoning)\s{0,3}>", re.IGNORECASE)

_NAMES = "think|thinking|thought|seed:think"
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


def answer_of(text: str) -> str:
    """A text without its thoughts, those included that were never closed; empty when it is nothing else."""
    return answer_and_open_thoughts(text)[0].strip()


def answer_and_open_thoughts(text: str) -> tuple[str, str]:
    """A text without its thoughts, and the thoughts at its end that were never closed.

    A closing tag without an opening one ends thoughts that began with the text, as some endpoints send them.
    """
    kept: list[str] = []
    answer_from = 0
    is_open = False
    for tag in _THOUGHT_TAG.finditer(text) if "<" in text else ():
        if tag[1]:
            if not is_open:
                kept.clear()
            is_open = False
            answer_from = tag.end()
        elif not is_open:
            kept.append(text[answer_from : tag.start()])
            is_open = True
            answer_from = tag.end()
    rest = text[answer_from:]
    return ("".join(kept), rest) if is_open else ("".join([*kept, rest]), "")
