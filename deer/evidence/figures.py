"""The figures and names of a sentence: what a quote must have too, if it is to bear a claim that has them."""

import re
import unicodedata
from collections.abc import Collection
from decimal import Decimal

_MARKER = re.compile(r"\[(?:s\d{1,4}|b)-\d{1,5}[^\]\n]{0,200}\]")
_FIGURE = re.compile(r"(?<!\d)\d{1,3}(?: \d{3}){1,10}(?!\d)(?:[.,]\d{1,20})?|\d+(?:[.,'’]\d+){0,20}")
_SEPARATORS = re.compile(r"[.,'’ ]")
_SCALE = re.compile(
    r"[\s-]?(thousand|million|billion|trillion|mio|mrd|tsd|bn|[km](?![a-z])|百万|千|万|萬|亿|億|兆)", re.IGNORECASE
)
_SCALES = {
    **dict.fromkeys(("thousand", "tsd", "k", "千"), 10**3),
    **dict.fromkeys(("万", "萬"), 10**4),
    **dict.fromkeys(("million", "mio", "m", "百万"), 10**6),
    **dict.fromkeys(("亿", "億"), 10**8),
    **dict.fromkeys(("billion", "mrd", "bn"), 10**9),
    **dict.fromkeys(("trillion", "兆"), 10**12),
}
_TO_JUNE = ("january", "february", "march", "april", "may", "june")
_FROM_JULY = ("july", "august", "september", "october", "november", "december")
_NUMBER_WORDS = (
    ("one", "once", "first", "一"),
    ("two", "twice", "second", "二", "两", "兩"),
    ("three", "third", "三"),
    ("four", "fourth", "四"),
    ("five", "fifth", "五"),
    ("six", "sixth", "六"),
    ("seven", "seventh", "七"),
    ("eight", "eighth", "八"),
    ("nine", "ninth", "九"),
    ("ten", "tenth", "十"),
    ("eleven", "eleventh", "十一"),
    ("twelve", "twelfth", "十二"),
)
_MONTH_VALUES = {name: Decimal(at) for at, month in enumerate(_TO_JUNE + _FROM_JULY, 1) for name in (month, month[:3])}
_NAMED = {word: Decimal(at) for at, words in enumerate(_NUMBER_WORDS, 1) for word in words} | _MONTH_VALUES
_WORD = re.compile(r"[^\W\d_](?:[\w&]|['’.-](?=\w)){0,60}")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;–—\"“”(]\s{0,3})$")
_GERMAN = {"der", "die", "das", "und", "ist", "von", "mit", "den", "für"}
"""Two of these tell the language in which every noun has a capital."""

_MIN_NAME_CHARS, _MIN_SHARED_CHARS = 2, 4


def not_in_quote(claim: str, quote: str) -> tuple[str, ...]:
    """The figures, dates and names of a claim that its quote does not have, as the claim writes them.

    Figures are compared by value: `2.5 million` is `2,500,000`, `March 3` is in `2024-03-03`. Names are words with a
    capital inside a sentence, and are compared where claim and quote are in one language, as shared words tell.
    """
    claim = unicodedata.normalize("NFKC", _MARKER.sub(" ", claim))
    quote = unicodedata.normalize("NFKC", quote)
    known = {value for _, values in _figures(quote) for value in values} | _named_values(quote)
    missing = [written for written, values in _figures(claim) if not values & known]
    return tuple(dict.fromkeys([*missing, *_missing_names(claim, quote)]))


def _figures(text: str) -> list[tuple[str, set[Decimal]]]:
    """Every figure as written, with all values that it may mean: `1.500` is one and a half, or fifteen hundred."""
    found = []
    for figure in _FIGURE.finditer(text):
        scale = _SCALE.match(text, figure.end())
        times = _SCALES[scale.group(1).casefold()] if scale else 1
        written = figure.group() + (scale.group() if scale else "")
        found.append((written.strip(), {value * times for value in _values(figure.group())}))
    return found


def _values(figure: str) -> set[Decimal]:
    parts = _SEPARATORS.split(figure)
    values = {Decimal("".join(parts))}
    if len(parts) > 1:
        values.add(Decimal(f"{''.join(parts[:-1])}.{parts[-1]}"))
    return values


def _named_values(text: str) -> set[Decimal]:
    """Values of the words for small numbers and months in a text."""
    words = {word.casefold() for word in _WORD.findall(text)}
    values = {_NAMED[word] for word in words if word in _NAMED}
    return values | {value for word, value in _NAMED.items() if not word.isascii() and word in text}


def _missing_names(claim: str, quote: str) -> list[str]:
    said = _WORD.findall(claim)
    heard = {word.casefold() for word in _WORD.findall(quote)}
    if not any(word.islower() and len(word) >= _MIN_SHARED_CHARS and word in heard for word in said):
        return []
    folded = quote.casefold()
    return [name for name in _names(claim) if not _is_heard(name, heard, folded)]


def _names(claim: str) -> list[str]:
    """Words with a capital that no sentence begins with; of titles and of German those with a capital inside."""
    words = list(_WORD.finditer(claim))
    capitals = [word for word in words if word.group()[0].isupper()]
    all_nouns = len({word.group() for word in words} & _GERMAN) > 1 or len(capitals) * 3 > len(words) * 2
    return [
        word.group()
        for word in words
        if len(word.group()) >= _MIN_NAME_CHARS
        and (
            any(map(str.isupper, word.group()[1:]))
            or (word in capitals and not all_nouns and not _SENTENCE_START.search(claim, 0, word.start()))
        )
    ]


def _is_heard(name: str, heard: Collection[str], folded: str) -> bool:
    plain = name.casefold().removesuffix("'s").removesuffix("’s")
    return plain in heard or plain in folded or plain in _MONTH_VALUES
