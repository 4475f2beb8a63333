"""Whether a quote stands in what was seen of its source."""

import re
import unicodedata
from collections.abc import Sequence

from deer.models import Check

_MIN_QUOTE_CHARS = 8
"""Shorter quotes are found by chance."""

_TYPOGRAPHY = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "−": "-", "…": "..."}
)


def check_quote(quote: str, texts: Sequence[str]) -> Check:
    """Whether a quote stands in one of the `folded` texts of its source, white space and typography aside.

    Parts joined by an ellipsis must each stand there, in one text and in order.
    """
    parts = [part for part in (folded(part) for part in re.split(r"\.{3}|…", quote)) if part]
    if sum(map(len, parts)) < _MIN_QUOTE_CHARS:
        return Check.UNVERIFIED
    return Check.VERIFIED if any(_holds(text, parts) for text in texts) else Check.UNVERIFIED


def _holds(text: str, parts: Sequence[str]) -> bool:
    position = 0
    for part in parts:
        found = text.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return True


def folded(text: str) -> str:
    """A text without what does not count in a quote: case, kinds of quotes and dashes, runs of white space."""
    plain = unicodedata.normalize("NFKC", text).translate(_TYPOGRAPHY).casefold()
    return " ".join(plain.split()).strip("\"' ")
