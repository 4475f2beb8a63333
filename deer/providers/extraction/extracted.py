"""What extraction gives, and how it says that there is nothing to give."""

from typing import TypedDict

from deer.providers.plain_text import clean, one_line

MAX_TEXT_CHARS = 1_000_000
"""About three hundred printed pages; a longer text is cut there and says so."""
MAX_TITLE_CHARS = 300
"""That of `deer.models`, which the program does not import: its library of types takes a third of a second."""
PAGE_BREAK = "\n\n\f"
"""Stands between the pages of a PDF. It counts as white space, so that a sentence over two pages can be quoted."""


class Extracted(TypedDict):
    """The readable text as Markdown or plain text; `cut` when there was more.

    `extractor` reads it as its model of the same name. `author` and `published` (a date, YYYY-MM-DD) are empty where
    the page does not say.
    """

    title: str
    text: str
    author: str
    published: str
    cut: bool


class Unextractable(Exception):
    """There is no text to be had. The message says why, in words that follow the address of a page."""


def extracted(title: str, text: str, *, author: str = "", published: str = "", cut: bool = False) -> Extracted:
    """The cleaned and bounded parts of a page."""
    text = "\f".join(clean(part) for part in text.split("\f")).strip()
    return Extracted(
        title=one_line(title)[:MAX_TITLE_CHARS],
        text=text[:MAX_TEXT_CHARS],
        author=one_line(author)[:MAX_TITLE_CHARS],
        published=published,
        cut=cut or len(text) > MAX_TEXT_CHARS,
    )
