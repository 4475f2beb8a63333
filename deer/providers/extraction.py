"""The program that turns the bytes of a page into text, run in a process of its own by `extractor`.

Pages are hostile and extraction is superlinear in their size, so the process holds no keys, ends itself at the
deadline of a page, and ends when its standard input does. It reads jobs from standard input, each a JSON line
`{kind, charset, seconds, bytes}` followed by so many bytes, and answers each with a JSON line `{title, text, cut}`.
"""

import codecs
import json
import os
import re
import signal
import sys
from typing import BinaryIO, TypedDict

import charset_normalizer
import trafilatura
from lxml import etree, html  # type: ignore[import-untyped]  # ships no types

from deer.providers.plain_text import clean, one_line

MAX_TEXT_CHARS = 200_000
MAX_TITLE_CHARS = 300
_DETECTION_BYTES = 20_000
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
_LARGE_CHARS = 500_000
"""Larger pages go without the second opinion of another algorithm, whose time grows with the square of the text."""
_FENCED = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
_ESCAPED = re.compile(r"(\\+)([*_\[\]<`~])")
_INLINE = ("b", "strong", "i", "em", "u", "s", "mark", "small", "big", "font")
"""Emphasis is dropped: marks inside of sentences would keep verbatim quotes from being found."""


class Extracted(TypedDict):
    """The readable text of a page as Markdown or plain text; `cut` when it was longer than `MAX_TEXT_CHARS`."""

    title: str
    text: str
    cut: bool


def extract_html(body: bytes, charset: str | None) -> Extracted:
    """The article of a web page, headings, lists and tables as Markdown; everything visible where no article is."""
    source = decoded(body, charset)
    tree = trafilatura.load_html(source)
    if tree is None:  # hardly any markup
        return _bounded("", re.sub(r"<[^>]*>", " ", source))
    title = _title_of(tree)
    etree.strip_tags(tree, *_INLINE)
    article = trafilatura.extract(
        tree, output_format="markdown", include_comments=False, include_tables=True, fast=len(source) > _LARGE_CHARS
    )
    return _bounded(title, _unescaped(article) if article else trafilatura.html2txt(source, clean=True))


def _unescaped(markdown: str) -> str:
    """Markdown whose prose has its characters as the page shows them: escaped ones keep quotes from being found."""
    parts = _FENCED.split(markdown)
    parts[::2] = [_ESCAPED.sub(_as_shown, prose) for prose in parts[::2]]
    return "".join(parts)


def _as_shown(escaped: re.Match[str]) -> str:
    run, character = escaped.groups()
    return "\\" * (len(run) // 2) + character


def extract_text(body: bytes, charset: str | None) -> Extracted:
    """A text as it is. Its title is a Markdown heading in its first line, else empty."""
    text = decoded(body, charset)
    first_line = text.lstrip().partition("\n")[0]
    return _bounded(first_line.lstrip("# ") if first_line.startswith("#") else "", text)


def _title_of(tree: html.HtmlElement) -> str:
    for path in (".//head/title", ".//title", ".//h1"):
        element = tree.find(path)
        if element is not None and (title := one_line(str(element.text_content()))):
            return title
    return ""


def _bounded(title: str, text: str) -> Extracted:
    text = clean(text).strip()
    return Extracted(
        title=one_line(title)[:MAX_TITLE_CHARS], text=text[:MAX_TEXT_CHARS], cut=len(text) > MAX_TEXT_CHARS
    )


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
    escaped = [name for name in declared if name.startswith("iso2022") or name in ("hz", "utf_16", "utf_7")]
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


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Answer jobs until there are no more. A job that outlasts its seconds ends the process by SIGALRM."""
    while line := jobs.readline():
        job = json.loads(line)
        body = jobs.read(job["bytes"])
        signal.setitimer(signal.ITIMER_REAL, job["seconds"])
        extracted = (extract_html if job["kind"] == "html" else extract_text)(body, job["charset"])
        signal.setitimer(signal.ITIMER_REAL, 0)
        answers.write(json.dumps(extracted, ensure_ascii=False).encode() + b"\n")
        answers.flush()


def main() -> None:
    """Serve on the standard streams, of which libraries must not write into the second."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
