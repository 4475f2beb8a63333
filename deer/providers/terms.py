"""The words of a text as search and ranking compare them.

A term is a folded word without its ending (`Crashes` and `crashed` are `crash`), a number, a code (`R-290` is `r290`),
or a pair of neighbouring Chinese, Japanese or Korean characters: pairs find words without a dictionary.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Characters written without spaces between words, as the inside of a regular expression's class."""

_LETTER = "A-Za-zªµºÀ-ÖØ-öø-\u1fff\u2c00-\u2dff\ua640-\uabff"
_TOKEN = re.compile(
    rf"(?P<word>[{_LETTER}][{_LETTER}0-9]*(?:[-'’][{_LETTER}0-9]+)*)"
    rf"|(?P<cjk>[{CJK}]+)"
    r"|(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9,])|[0-9]+(?:\.[0-9]+)?)"
)

CJK_DIGITS = "零〇一二三四五六七八九两十百千"
# Two characters at least, one of them a digit: 十分 is a word and no number.
_CJK_NUMERAL = re.compile(f"(?=[{CJK_DIGITS}]*[一二三四五六七八九两])(?=[{CJK_DIGITS}]*[十百千])[{CJK_DIGITS}]{{2,}}")
_LEARNED_ENDING = re.compile(r"(?<=\w{4})(?:istic|ism|ency|ent|ance|ence|ancy|ant|ations?|ate)$|(?<=\w{5})ion$")
_MADE_VERB = re.compile(r"(?<=\w{5})i[sz]$")
_DEGREES = re.compile(r"\s?(?:°|度|degrees?\b)")
_BELOW_ZERO = re.compile(r"(?:(?<![\w)])\s?[-−]|零下|minus )$")

_ASKING = """
    a about above after again against all also am an and any are aren't as at be because been before being below
    between both but by can cannot could did do does doing done down during each either else ever every few for from
    further get gets give gives given go goes going got had has have having he her here hers him his how however i if
    in into is it its itself just let like made make makes many may me might mine more most much must my near need
    needs neither no nor not of off often on once one only onto or other our ours out over own per please same shall
    she should since so some such than that the their theirs them then there these they this those through to too
    under until up upon us use used uses using very via was we were what when where whether which while who whom whose
    why will with within without would you your yours yet

    compare compared comparing comparison contrast describe described detail details difference differences different
    differ discuss explain explained explanation find happen happens happened information know known list main mean
    means meant outline overview question report research say says said show shows summarise summarize summary tell
    thing things hi hello hey thanks dear kindly okay
    vs versus want work works worth document documents source sources respectively
"""
STOP_WORDS = frozenset(_ASKING.split())
"""Words that say how something is asked and not what is asked about."""


class Token(NamedTuple):
    """A word of a text where it stands: `terms` has one or more terms, `start` counts characters of the folded text."""

    text: str
    terms: tuple[str, ...]
    start: int
    is_cjk: bool


def folded(text: str) -> str:
    """The text with compatibility forms made plain: full-width digits, ligatures, non-breaking spaces."""
    return unicodedata.normalize("NFKC", text)


def tokens(text: str) -> Iterator[Token]:
    """The words of a text in order, stop words left out."""
    plain = folded(text)
    for match in _TOKEN.finditer(plain):
        if found := _match_terms(plain, match):
            yield Token(match.group(), found, match.start(), is_cjk=match.lastgroup == "cjk")


def terms(text: str) -> list[str]:
    """The terms of a text in order, with repetitions."""
    plain = folded(text)
    return [term for match in _TOKEN.finditer(plain) for term in _match_terms(plain, match)]


def _match_terms(text: str, match: re.Match[str]) -> tuple[str, ...]:
    if match.lastgroup == "word":
        return _word_terms(match.group())
    if match.lastgroup == "cjk":
        return (*pairs(match.group()), *_cjk_number_terms(match.group()))
    return tuple(_number_terms(text, match))


def pairs(run: str) -> tuple[str, ...]:
    """The pairs of neighbours of a run of characters; a lone character is its own term."""
    return tuple(run[i : i + 2] for i in range(len(run) - 1)) or (run,)


def _number_terms(text: str, match: re.Match[str]) -> Iterator[str]:
    """The number, and once more with its sign where it is a temperature: −15 °C and 零下15度 are `m15deg`."""
    number = match.group().replace(",", "")
    yield number
    if _DEGREES.match(text, match.end()):
        yield f"{'m' if _BELOW_ZERO.search(text, 0, match.start()) else ''}{number}deg"


def _cjk_number_terms(run: str) -> Iterator[str]:
    for match in _CJK_NUMERAL.finditer(run):
        number = _number_of(match.group())
        yield number
        if _DEGREES.match(run, match.end()):
            yield f"{'m' if run[: match.start()].endswith('零下') else ''}{number}deg"


def _number_of(numeral: str) -> str:
    """The digits of a Chinese numeral below ten thousand: 十五 is 15."""
    total, digit = 0, 0
    for character in numeral:
        if factor := {"十": 10, "百": 100, "千": 1000}.get(character):
            total += (digit or 1) * factor
            digit = 0
        else:
            digit = "零一二三四五六七八九".find(character.replace("两", "二").replace("〇", "零"))
    return str(total + digit)


@lru_cache(maxsize=50_000)  # texts repeat their words: this halves the time of indexing and more
def _word_terms(word: str) -> tuple[str, ...]:
    plain = "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))
    plain = plain.replace("’", "'")
    if plain in STOP_WORDS:
        return ()
    pieces = plain.removesuffix("'s").replace("'", "-").split("-")
    code: tuple[str, ...] = ()
    if any(c.isdigit() for c in plain):
        code = ("".join(pieces),)
        pieces = [piece for piece in pieces if piece.isalpha() and len(piece) > 2 and len(pieces) > 1]
    return code + tuple(stem(piece) for piece in pieces if len(piece) > 1 and piece not in STOP_WORDS)


def stem(word: str) -> str:
    """An English word without the commonest endings. Rough on purpose: both sides of a comparison pass through it."""
    word = _without_plural(word)
    for ending in ("ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and len(base) > 2 and any(c in "aeiouy" for c in base):
            word = base
            break
    if len(word) > 6:
        word = _LEARNED_ENDING.sub("", word)
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    word = word.removesuffix("e") if len(word) > 3 else word
    word = _MADE_VERB.sub("", word.removesuffix("y") if len(word) > 5 else word)
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def _without_plural(word: str) -> str:
    if len(word) < 4:
        return word
    if word.endswith(("ies", "ied")):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
