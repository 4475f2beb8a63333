"""Web pages of so many elements that telling their article from the rest by heuristics takes seconds.

Such a page is nearly all article: a book, a standard, a long list. One pass writes all of it but what is navigation by
its tag, role or name, in time that grows with the page and not with its square.
"""

import re
from collections.abc import Iterator

from lxml import etree, html  # type: ignore[import-untyped]  # ships no types


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS = frozenset(_HEADINGS) | _words(
    """
    address article blockquote body caption center dd details div dl dt fieldset figcaption figure hr li main ol p pre
    section summary table tbody tfoot thead tr ul
    """
)
_LEFT_OUT = _words(
    """
    script style noscript template svg canvas iframe object embed form button select textarea nav footer aside dialog
    menu audio video head
    """
)
_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "complementary", "dialog", "menu", "menubar"))
_NAMES = re.compile(
    r"(^|[\s_-])(nav|navbar|navbox|navigation|menu|footer|sidebar|breadcrumbs?|cookies?|advert|ads|share|social|related|"
    r"newsletter|toolbar|mw-editsection)($|[\s_-])"
)
_MOST_OF_TEXT = 0.5
"""What holds less than this share of the text is not the article, whatever it is called."""


def text_of_long_page(tree: html.HtmlElement) -> str:
    """All but the navigation of a page, headings, lists, tables and code as Markdown. Changes the tree."""
    etree.strip_tags(tree, etree.Comment, etree.ProcessingInstruction)
    etree.strip_elements(tree, *_LEFT_OUT, with_tail=False)
    whole = len(tree.text_content())
    for element in [element for element in tree.iter() if _is_navigation(element)]:
        if len(element.text_content()) < _MOST_OF_TEXT * whole:
            element.drop_tree()
    return "".join(_Writer().written(_article_of(tree))).strip()


def _is_navigation(element: html.HtmlElement) -> bool:
    if element.tag == "header":  # above a page, or with the title of its article
        return element.find(".//h1") is None
    names = f"{element.get('class', '')} {element.get('id', '')}".lower()
    return element.get("role") in _ROLES or bool(_NAMES.search(names))


def _article_of(tree: html.HtmlElement) -> html.HtmlElement:
    """The element that says it is the article and holds most of the text, else the whole."""
    least = _MOST_OF_TEXT * len(tree.text_content())
    named = tree.xpath("//main | //*[@role='main'] | //article")
    return next((element for element in named if len(element.text_content()) >= least), tree)


class _Writer:
    """Writes a page block by block."""

    def __init__(self) -> None:
        self._inline: list[str] = []
        self._cells: list[str] = []
        self._cell_depth = 0
        self._rows = 0
        self._mark = ""
        self._last = ""

    def written(self, root: html.HtmlElement) -> Iterator[str]:
        """The blocks of an element, each with the space before it."""
        for event, element in etree.iterwalk(root, events=("start", "end")):
            if event == "start":
                yield from self._begin(element)
                self._inline.append(element.text or "")
            else:
                yield from self._end(element)
                self._inline.append((element.tail or "") if element is not root else "")
        yield from self._block()

    def _begin(self, element: html.HtmlElement) -> Iterator[str]:
        tag = element.tag
        if tag in ("td", "th"):
            self._cell_depth += 1
        if self._cell_depth:
            self._inline.append(" ")
        elif tag in _BLOCKS:
            yield from self._block()
            self._mark = _HEADINGS.get(tag) or ("- " if tag == "li" else "")
            self._rows = 0 if tag == "table" else self._rows

    def _end(self, element: html.HtmlElement) -> Iterator[str]:
        tag = element.tag
        if tag in ("td", "th"):
            self._cell_depth -= 1
            if not self._cell_depth:
                self._cells.append(self._taken().replace("|", "/"))
        elif self._cell_depth:
            self._inline.append(" ")
        elif tag == "tr":
            yield from self._row()
        elif tag == "pre":
            code = "".join(self._inline).strip("\n")
            self._inline.clear()
            yield self._spaced(f"```\n{code}\n```", "pre")
        elif tag in _BLOCKS or tag == "br":
            yield from self._block()

    def _taken(self) -> str:
        text = " ".join("".join(self._inline).split())
        self._inline.clear()
        return text

    def _block(self) -> Iterator[str]:
        text, mark = self._taken(), self._mark
        if text:
            self._mark = ""
            yield self._spaced(mark + text, "item" if mark == "- " else "text")

    def _row(self) -> Iterator[str]:
        cells, self._cells = self._cells, []
        if any(cells):
            self._rows += 1
            yield self._spaced(f"| {' | '.join(cells)} |", "row")
            if self._rows == 1:
                yield "\n|" + " --- |" * len(cells)

    def _spaced(self, block: str, kind: str) -> str:
        """Rows and items stand one below the other, anything else apart."""
        is_next = kind == self._last and kind in ("item", "row") and (kind != "row" or self._rows > 1)
        self._last = kind
        return ("\n" if is_next else "\n\n") + block
