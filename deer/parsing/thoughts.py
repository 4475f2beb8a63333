"""Thoughts that models write between tags into their text, told apart from the answer."""

import re

_THOUGHT_TAG = re.compile(r"<(/?)\s{0,3}(?:think|thinking|thoughts?|reasoning)\s{0,3}>", re.IGNORECASE)


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
