"""Web pages as text: the article, with headings, lists and tables as Markdown, and who wrote it when."""

import re

import trafilatura
from lxml import etree, html  # type: ignore[import-untyped]  # ships no types
from trafilatura.metadata import extract_metadata

from deer.providers.extraction.decoding import decoded
from deer.providers.extraction.extracted import Extracted, extracted
from deer.providers.plain_text import one_line

_LARGE_CHARS = 500_000
"""Larger pages go without the second opinion of another algorithm, whose time grows with the square of the text."""
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
    declared = extract_metadata(tree, date_config=_DATES, extensive=False)
    etree.strip_tags(tree, *_INLINE)
    article = trafilatura.extract(
        tree, output_format="markdown", include_comments=False, include_tables=True, fast=len(source) > _LARGE_CHARS
    )
    text = _unescaped(article) if article else trafilatura.html2txt(source, clean=True)
    return extracted(title, text, author=declared.author or "", published=declared.date or "")


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
