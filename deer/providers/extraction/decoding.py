"""Which characters the bytes of a text stand for."""

import codecs
import re

import charset_normalizer

_DETECTION_BYTES = 20_000
_JAPANESE_ESCAPE = b"\x1b$"
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_META_WITHIN_BYTES = 2048
# A page names the older standard and uses the wider one, as browsers know (WHATWG Encoding).
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
}
_ANY_BYTES_DECODE = frozenset({"cp1252", "iso8859-15"})
_MOST_ACCENTS = 0.15
"""Western texts have fewer letters outside ASCII than this; more of them are another alphabet read wrongly."""


def decoded(body: bytes, charset: str | None) -> str:
    """The text of a body: by its byte order mark, as UTF-8, as declared, or as its bytes look.

    `charset` is what the HTTP header says. UTF-8 goes first since no other text looks like it; a declaration counts
    only when every byte obeys it. The last character may be broken, as bodies are cut.
    """
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    named = _META_CHARSET.search(body[:_META_WITHIN_BYTES])
    declared = [_python_name(name) for name in (charset, named and named.group(1).decode("ascii", "replace")) if name]
    escaped = [name for name in declared if name.startswith("iso2022") or name == "hz"]
    if _JAPANESE_ESCAPE in body[:_DETECTION_BYTES]:
        escaped.append("iso2022_jp")  # all its bytes are ASCII, so that UTF-8 would take them
    for encoding in (*escaped, "utf-8", *declared):
        text = _strictly(body, encoding)
        if text is not None and not (encoding in _ANY_BYTES_DECODE and _looks_misread(text)):
            return text
    guess = charset_normalizer.from_bytes(body[:_DETECTION_BYTES]).best()
    western = body.decode("cp1252", "replace")
    if guess is None or not _looks_misread(western):
        return western
    return body.decode(guess.encoding, "replace")


def _python_name(charset: str) -> str:
    try:
        name = codecs.lookup(charset).name
    except LookupError:
        return "utf-8"
    return _WIDER.get(name, name)


def _strictly(body: bytes, encoding: str) -> str | None:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(body)  # not final: a cut last character is left out
    except (UnicodeDecodeError, LookupError):  # LookupError: a codec for something else than text
        return None


def _looks_misread(text: str) -> bool:
    letters = sum(1 for character in text if character.isalpha())
    accents = sum(1 for character in text if ord(character) > 0x7F)
    return accents > _MOST_ACCENTS * max(letters, 1)
