"""A reader of JSON as models write it, which never completes what is not there.

Beside JSON it takes single, curly and full-width quotes, Python's and JavaScript's words, names without quotes,
trailing and missing commas, comments, line breaks and quotes within strings, and full-width brackets, colons and
commas.
Every bracket that was opened must be closed in the text: a value that breaks off is told, never mended.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from deer.errors import InvalidInput

MAX_DEPTH = 64
"""Values nested deeper are not read; a plan has four levels."""

MAX_TOKENS = 20_000
"""Looks at what comes next within one text that is not strict JSON; each field of a plan takes five."""

MAX_STARTS = 500
"""Brackets at which a value is looked for; prose has few."""

MAX_STRICT_TRIES = 5
"""Failed tries with the parser of strict JSON, which is twenty times faster, but slow to give up."""

MAX_NAME_CHARS = 200
"""Names of fields end within these, and on their line."""

_OPENERS = re.compile(r'[{\[｛［]|"(?=(?:[{\[\s]|\\n){1,20}\\")')
"""Where a value may begin; behind a quote one that was encoded twice."""
_BLANKS = re.compile(r"(?:[\s\ufeff\u200b]++|//[^\n]*+|#[^\n]*+)++")
_WORD = re.compile(r"[^\W\d][\w$-]*+")
_NUMBER = re.compile(r"[-+]?(\d{1,30})(\.\d{1,30})?([eE][-+]?\d{1,3})?")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_AFTER_A_STRING = re.compile(r"[\s\ufeff\u200b]*+(?:[,:}\]，：｝］]|//|#|\Z)|[ \t]*+\r?\n\s*+[\"'“‘]")

_SIGNS = dict(zip("｛｝［］：，", "{}[]:,", strict=True))
_WORDS = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", "\n": ""}
_QUOTES = "\"'“”„‘’‚＂＇"


_CLOSED_BY = {'"': '"', "'": "'", **dict.fromkeys("“”„＂", '”“＂"'), **dict.fromkeys("‘’‚＇", "’‘＇'")}
"""The quotes that close a string, by the one that opened it."""


def _closing(quotes: str) -> re.Pattern[str]:
    return re.compile(rf"[^{quotes}\\]*+(?:\\.[^{quotes}\\]*+)*+[{quotes}]", re.DOTALL)


def _closing_of_a_name(quotes: str) -> re.Pattern[str]:
    return re.compile(rf"(?:[^{quotes}\\\n]|\\.){{0,{MAX_NAME_CHARS}}}+[{quotes}]")


_STRINGS = {opening: _closing(quotes) for opening, quotes in _CLOSED_BY.items()}
_NAMES = {opening: _closing_of_a_name(quotes) for opening, quotes in _CLOSED_BY.items()}

_strict = json.JSONDecoder(strict=False)


@dataclass(frozen=True)
class Found:
    """An object or list that stands whole in a text, at these positions.

    `is_piece`: it may have been part of an object around it that could not be read.
    """

    value: dict[str, Any] | list[Any]  # Any: what a model wrote
    start: int
    end: int
    is_piece: bool


@dataclass(frozen=True)
class Contents:
    """The values that stand whole in a text.

    `breaks_off`: the text ends within a further one.
    """

    found: tuple[Found, ...]
    breaks_off: bool


def contents_of(text: str) -> Contents:
    """All objects and lists that stand whole in a text and within no other.

    The work grows with the length of the text only: where a value cannot be read on, the search goes on behind it.
    Raises InvalidInput when a text that is not strict JSON has more parts than `MAX_TOKENS`.
    """
    return _Reader(text).contents()


def value_of(text: str) -> Any:  # Any: what a model wrote
    """The value that a text is as a whole, as JSON or almost; None when it is none. Raises as `contents_of`."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        found = contents_of(text).found
    is_all = len(found) == 1 and not text[: found[0].start].strip() and not text[found[0].end :].strip()
    return found[0].value if is_all else None


def unescaped(text: str) -> str:
    """A text with the escapes of JSON and Python strings replaced; unknown ones stay as they are."""
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_escaped_character, text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # halves become one character


def _escaped_character(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return code if code in _QUOTES else _ESCAPED.get(code, escape[0])


class _Unreadable(Exception):
    """What stands at `at` cannot continue the value."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


class _BreaksOff(Exception):
    """The text ends within the value."""


class _Reader:
    """Reads one text from front to back."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._tokens_left = MAX_TOKENS
        self._strict_tries_left = MAX_STRICT_TRIES
        self._has_pairs = False

    def contents(self) -> Contents:
        """See `contents_of`."""
        found: list[Found] = []
        is_piece = False
        for start in self._starts():
            try:
                value, end = self._value(start)
            except _Unreadable as error:
                is_piece = is_piece or self._has_pairs
                self._at = max(error.at, start + 1)
            except _BreaksOff:
                return Contents(tuple(found), breaks_off=True)
            else:
                found.append(Found(value, start, end, is_piece))
                self._at = end
        return Contents(tuple(found), breaks_off=False)

    def _starts(self) -> Iterator[int]:
        for _ in range(MAX_STARTS):
            opener = _OPENERS.search(self._text, self._at)
            if opener is None:
                return
            yield opener.start()

    def _value(self, start: int) -> tuple[Any, int]:
        """The object or list that begins here, and where it ends."""
        self._has_pairs = False
        if self._text[start] == '"':
            return self._encoded_value(start)
        if self._strict_tries_left > 0:
            try:
                return _strict.raw_decode(self._text, start)
            except (ValueError, RecursionError):
                self._strict_tries_left -= 1
        self._at = start
        return self._container(depth=1), self._at

    def _encoded_value(self, start: int) -> tuple[Any, int]:
        string = _STRINGS['"'].match(self._text, start + 1)
        if string is None:
            raise _BreaksOff
        value = value_of(unescaped(string[0][:-1]))
        if not isinstance(value, dict | list):
            raise _Unreadable(string.end())
        return value, string.end()

    def _container(self, depth: int) -> Any:
        start = self._at
        if depth > MAX_DEPTH:
            raise _Unreadable(start)
        return self._object(depth) if self._sign() == "{" else self._list(depth)

    def _object(self, depth: int) -> dict[str, Any]:
        self._at += 1
        value: dict[str, Any] = {}
        while self._sign() != "}":
            name = self._name()
            if self._sign() != ":":
                raise _Unreadable(self._at)
            self._at += 1
            value[name] = self._item(depth)
            self._has_pairs = True
            self._pass_comma("}")
        self._at += 1
        return value

    def _list(self, depth: int) -> list[Any]:
        self._at += 1
        items: list[Any] = []
        while self._sign() != "]":
            items.append(self._item(depth))
            self._pass_comma("]")
        self._at += 1
        return items

    def _pass_comma(self, closer: str) -> None:
        """Go behind a comma. One may be missing, but not before a word, which could be anything."""
        sign = self._sign()
        if sign == ",":
            self._at += 1
        elif sign != closer and sign not in _QUOTES and sign not in "{[":
            raise _Unreadable(self._at)

    def _item(self, depth: int) -> Any:
        sign = self._sign()
        if sign in "{[":
            return self._container(depth + 1)
        if sign in _QUOTES:
            return self._string()
        if number := _NUMBER.match(self._text, self._at):
            self._at = number.end()
            return float(number[0]) if number[2] or number[3] else int(number[0])
        word = self._word().lower()
        if word in _WORDS:
            return _WORDS[word]
        if self._at == len(self._text):
            raise _BreaksOff
        raise _Unreadable(self._at - len(word))

    def _name(self) -> str:
        if self._sign() not in _QUOTES:
            return self._word()
        start = self._at + 1
        name = _NAMES[self._text[self._at]].match(self._text, start)
        if name is None:
            if len(self._text) - start <= MAX_NAME_CHARS and "\n" not in self._text[start:]:
                raise _BreaksOff
            raise _Unreadable(start)  # a stray quote, that would swallow the text behind it
        self._at = name.end()
        return unescaped(name[0][:-1])

    def _word(self) -> str:
        word = _WORD.match(self._text, self._at)
        if word is None:
            raise _Unreadable(self._at)
        self._at = word.end()
        return word[0]

    def _string(self) -> str:
        """A string, up to the first of its quotes behind which a value can go on; others are part of it."""
        start = self._at + 1
        closing = _STRINGS[self._text[self._at]]
        end = start
        while (quote := closing.match(self._text, end)) and self._tokens_left > 0:
            self._tokens_left -= 1
            end = quote.end()
            if _AFTER_A_STRING.match(self._text, end):
                self._at = end
                return unescaped(self._text[start : end - 1])
        raise _BreaksOff

    def _sign(self) -> str:
        """The next character that is neither blank nor comment, brackets and commas in their ASCII form."""
        self._tokens_left -= 1
        if blanks := _BLANKS.match(self._text, self._at):
            self._at = blanks.end()
        if self._tokens_left < 0:
            raise InvalidInput("the JSON has faults, and too many parts to be read all the same; write it shorter")
        if self._at == len(self._text):
            raise _BreaksOff
        sign = self._text[self._at]
        return _SIGNS.get(sign, sign)
