"""The figures and names of a sentence: what a quote must have too, if it is to bear a claim that has them."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from decimal import Decimal

_MARKER = re.compile(r"\[(?:s\d{1,4}|b)-\d{1,5}[^\]\n]{0,200}\]")
_FIGURE = re.compile(r"(?<!\d)\d{1,3}(?: \d{3}){1,10}(?!\d)(?:[.,]\d{1,20})?|\d+(?:[.,'’]\d+){0,20}")
_SEPARATORS = re.compile(r"[.,'’ ]")

_SCALES = (
    (r"thousand|tsd|tausend|mille|mila|duizend|тыс\w*", 10**3),
    (r"mil millones|milliards?|milliarden?|miliard[io]|miljard|mrd|billion|bilh[õo]es|bn|миллиард\w*|млрд", 10**9),
    (r"million\w*|millones|milion[ei]|milh[õo]es|miljoen|mio|миллион\w*|млн", 10**6),
    (r"trillion|billionen|billones|兆|조", 10**12),
    (r"亿|億|억", 10**8),
    (r"百万", 10**6),
    (r"万|萬|만", 10**4),
    (r"千|천", 10**3),
)
_SCALE_WORDS = "|".join(rf"(?:{words})(?!(?<![万萬亿億千兆만억천조])[^\W\d_])" for words, _ in _SCALES)
_SCALE = re.compile(rf"[\s-]?({_SCALE_WORDS})", re.IGNORECASE)
_LETTER_SCALE = re.compile(r"\s?([kmb])(?![^\W\d_])", re.IGNORECASE)
_LETTERS = {"k": 10**3, "m": 10**6, "b": 10**9}
"""Short for a scale, or for a unit such as metres: a figure before one may be meant either way."""

_UNITS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMBERS: dict[str, int] = {
    **{word: at for at, word in enumerate(f"{_UNITS} eighteen nineteen".split(), 1)},
    **{word: at for at, word in enumerate(f"{_ORDINALS} fifteenth sixteenth seventeenth".split(), 1)},
    "eighteenth": 18,
    "nineteenth": 19,
    "once": 1,
    "twice": 2,
    **{word: at * 10 for at, word in enumerate(_TENS.split(), 2)},
    **{f"{word[:-1]}ieth": at * 10 for at, word in enumerate(_TENS.split(), 2)},
}
_FIRST_MONTHS, _LAST_MONTHS = "january february march april may june", "july august september october november december"
_MONTHS = {
    name: at for at, month in enumerate(f"{_FIRST_MONTHS} {_LAST_MONTHS}".split(), 1) for name in (month, month[:3])
}
_CHINESE = re.compile(r"[〇零一二两三四五六七八九十百千万亿]+")
_CHINESE_DIGITS = {sign: at for at, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_CHINESE_SCALES = {"十": 10, "百": 100, "千": 1_000}
_CHINESE_GROUPS = {"万": 10**4, "亿": 10**8}

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
    known = {value for _, values in _figures(quote) for value in values} | set(_values_in_words(quote))
    missing = [written for written, values in _figures(claim) if not values & known]
    return tuple(dict.fromkeys([*missing, *_missing_names(claim, quote)]))


def _figures(text: str) -> Iterator[tuple[str, set[Decimal]]]:
    """Every figure as written, with all values that it may mean: `1.500` is one and a half, or fifteen hundred."""
    for figure in _FIGURE.finditer(text):
        values = _values(figure.group())
        if scale := _SCALE.match(text, figure.end()):
            yield (figure.group() + scale.group()).strip(), {value * _scale(scale.group(1)) for value in values}
        elif letter := _LETTER_SCALE.match(text, figure.end()):
            times = _LETTERS[letter.group(1).casefold()]
            yield (figure.group() + letter.group()).strip(), values | {value * times for value in values}
        else:
            yield figure.group(), values


def _values(figure: str) -> set[Decimal]:
    parts = _SEPARATORS.split(figure)
    values = {Decimal("".join(parts))}
    if len(parts) > 1:
        values.add(Decimal(f"{''.join(parts[:-1])}.{parts[-1]}"))
    return values


def _scale(word: str) -> int:
    return next(value for words, value in _SCALES if re.fullmatch(words, word, re.IGNORECASE))


def _values_in_words(text: str) -> Iterator[Decimal]:
    """Values of numbers and months that a text has in words."""
    for word in _WORD.finditer(text):
        said = word.group().casefold()
        if said in _MONTHS:
            yield Decimal(_MONTHS[said])
        numbers = [_NUMBERS.get(part) for part in said.split("-")]
        known = [number for number in numbers if number is not None]
        scale = _SCALE.match(text, word.end())
        if len(known) == len(numbers):
            yield Decimal(sum(known) * (_scale(scale.group(1)) if scale else 1))
        elif scale and said in {"a", "an"}:
            yield Decimal(_scale(scale.group(1)))
    for number in _CHINESE.finditer(text):
        yield Decimal(_chinese(number.group()))


def _chinese(number: str) -> int:
    total, group, digit = 0, 0, 0
    for sign in number:
        if sign in _CHINESE_GROUPS:
            total, group, digit = (total + group + digit or 1) * _CHINESE_GROUPS[sign], 0, 0
        elif sign in _CHINESE_SCALES:
            group, digit = group + (digit or 1) * _CHINESE_SCALES[sign], 0
        else:
            digit = _CHINESE_DIGITS[sign]
    return total + group + digit


def _missing_names(claim: str, quote: str) -> list[str]:
    heard = [word.casefold() for word in _WORD.findall(quote)]
    if not any(word.islower() and len(word) >= _MIN_SHARED_CHARS and word in heard for word in _WORD.findall(claim)):
        return []
    initials = "".join(part[0] for word in heard for part in word.split("-") if part)
    return [name for name in _names(claim) if not _is_heard(name, heard, quote.casefold(), initials)]


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


def _is_heard(name: str, heard: Collection[str], folded: str, initials: str) -> bool:
    """Whether a quote says a name, or words of which it is the initials; months are figures."""
    plain = name.casefold().removesuffix("'s").removesuffix("’s")
    return plain in heard or plain in folded or plain in _MONTHS or (name.isupper() and plain in initials)
