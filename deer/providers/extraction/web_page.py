"""Web pages as text: the article, with headings, lists and tables as Markdown, and who wrote it when."""

import copy
import re

import trafilatura
from lxml import etree, html  # type: ignore[import-untyped]  # ships no types
from trafilatura.metadata import extract_metadata

from deer.providers.extraction.decoding import decoded
from deer.providers.extraction.extracted import Extracted, extracted
from deer.providers.extraction.long_page import text_of_long_page
from deer.providers.plain_text import one_line

_MANY_ELEMENTS = 5_000
"""Telling the article of more from what surrounds it would take above a second, and far longer for twice as many."""
_FENCED = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
_ESCAPED = re.compile(r"(\\+)([*_\[\]<`~])")
_INLINE = ("b", "strong", "i", "em", "u", "s", "mark", "small", "big", "font")
"""Emphasis is dropped: marks inside of sentences would keep verbatim quotes from being found."""
_DATES = {"extensive_search": False, "original_date": True}
"""Only a date that the page declares counts: any other is a guess, and dear on long pages."""


def extract_web_page(body: bytes, charset: str | None) -> Extracted:
    """The article of a web page; everything visible where no article is."""
    source = decoded(body, charset)
    tree = trafilatura.load_html(source)
    if tree is None:  # hardly any markup
        return extracted("", re.sub(r"<[^>]*>", " ", source))
    title = _title_of(tree)
    etree.strip_tags(tree, *_INLINE)
    is_long = sum(1 for _ in tree.iter()) > _MANY_ELEMENTS
    # of a long page only the head is asked, since looking through the rest would take longer than reading it
    declared = extract_metadata(_head_of(tree) if is_long else tree, date_config=_DATES, extensive=False)
    text = text_of_long_page(tree) if is_long else _article(tree)
    return extracted(
        title,
        text or trafilatura.html2txt(source, clean=True),
        author=declared.author or "",
        published=declared.date or "",
    )


def _article(tree: html.HtmlElement) -> str:
    return _unescaped(
        trafilatura.extract(tree, output_format="markdown", include_comments=False, include_tables=True) or ""
    )


def _head_of(tree: html.HtmlElement) -> html.HtmlElement:
    """A page of nothing but the head."""
    alone = html.Element("html")
    head = tree.find(".//head")
    alone.extend([copy.deepcopy(head)] if head is not None else [])
    alone.append(html.Element("body"))
    return alone


def _unescaped(markdown: str) -> str:
    """Markdown whose prose has its characters as the page shows them: escaped ones keep quotes from being found."""
    parts = _FENCED.split(markdown)
    parts[::2] = [_ESCAPED.sub(_as_shown, prose) for prose in parts[::2]]
    return "".join(parts)


def _as_shown(escaped: re.Match[str]) -> str:
    run, character = escaped.groups()
    return "\\" * (len(run) // 2) + character


def _title_of(tree: html.HtmlElement) -> str:
    for path in (".//head/title", ".//title", ".//h1"):
        element = tree.find(path)
        if element is not None and (title := one_line(str(element.text_content()))):
            return title
    return ""
