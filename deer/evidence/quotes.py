"""Whether a quote stands in what was seen of its source."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

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


_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_MAX_SEARCHED_CHARS = 60_000
_AROUND = 3
"""Words told on either side: where a quote begins and ends, its writer knows better."""
_LEAST_SHARED = 0.6
"""Of the words of a quote: what shares fewer is another sentence."""


def nearest_wording(quote: str, texts: Iterable[str]) -> str | None:
    """The words of a text that come nearest to a quote, as they stand there; None when nothing comes near.

    Near is what shares most words with it in as many words, in whatever order. Only the first 60,000 characters of the
    texts are looked through, which takes some tenths of a second at most.
    """
    room = _MAX_SEARCHED_CHARS
    wanted = Counter(_WORD.findall(folded(quote)))
    length = wanted.total()
    best_share, best = max(1.0, length * _LEAST_SHARED), None
    for text in texts:
        words = list(_WORD.finditer(text, 0, room))
        room = max(0, room - len(text))
        missing, share = wanted.copy(), 0
        forms = {word: folded(word) for word in {found.group() for found in words}}
        plain = [forms[word.group()] for word in words]
        for at, word in enumerate(plain):
            share += missing[word] > 0
            missing[word] -= 1
            if at >= length:
                missing[plain[at - length]] += 1
                share -= missing[plain[at - length]] > 0
            if share > best_share or (share == best_share and best is None):
                first, last = max(0, at - length + 1 - _AROUND), min(len(words) - 1, at + _AROUND)
                best_share, best = share, text[words[first].start() : words[last].end()]
    return None if best is None else " ".join(best.split())
