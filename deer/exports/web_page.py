"""A report as one web page that needs and loads nothing else."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from deer.exports.content import Reference, ReportContent
from deer.exports.directions import is_right_to_left
from deer.exports.safe_markdown import IMAGE_DATA, safe_tokens
from deer.models import CheckedClaim
from deer.wording import word

_MAX_QUOTE_CHARS = 400
_BLOCKS = frozenset(("blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "td", "th", "ul"))
"""Each has the direction of its first letter; the entries of a list have that of the list, where their numbers are."""
_INLINE = frozenset(("a", "br", "code", "em", "img", "q", "s", "span", "strong"))
_TAGS = {*_BLOCKS, *_INLINE, "hr", "li", "pre", "table", "tbody", "thead", "tr"}
_ATTRIBUTES = {
    "*": {"dir", "class", "id"},
    "a": {"href", "rel"},
    "img": {"src", "alt"},
    "ol": {"start"},
    "span": {"role"},
}


def web_page(content: ReportContent) -> str:
    """The report as HTML: no script, nothing loaded, links to seen pages only, a card with quotes at each citation."""
    body = nh3.clean(
        _Renderer(content).render(safe_tokens(content), MarkdownIt("commonmark").options, {}),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_harmless,
        url_schemes={"http", "https", "data"},
        link_rel=None,  # links to pages have theirs
    )
    direction = "rtl" if is_right_to_left(content.markdown) else "ltr"
    about = " · ".join(part for part in (content.run_id, content.finished_on) if part)
    return f"""<!DOCTYPE html>
<html lang="{escape(content.locale)}" dir="{direction}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy()}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(content.title)}</title>
<style>{_style()}</style>
</head>
<body>
<main>
{body}</main>
<footer dir="auto">{escape(about)}</footer>
</body>
</html>
"""


def _harmless(tag: str, attribute: str, value: str) -> str | None:
    """The value of an attribute that may stay: what is no link to a page or into this one, and no image, goes."""
    if attribute == "href":
        return value if value.startswith(("https://", "http://", "#")) else None
    if attribute == "src":
        return value if IMAGE_DATA.fullmatch(value) else None
    return value


class _Renderer(RendererHTML):
    """The library's own rendering, with the direction of each block, and a method for each type of node of our own."""

    def __init__(self, content: ReportContent) -> None:
        super().__init__()
        self._content = content

    def renderToken(  # noqa: N802 - the name that the library calls
        self,
        tokens: Sequence[Token],
        idx: int,
        options: Any,
        env: Any,  # the library's, both unused
    ) -> str:
        token = tokens[idx]
        if token.nesting == 1 and token.tag in _BLOCKS and token.attrGet("class") != "references":
            token.attrSet("dir", "auto")
        if style := str(token.attrs.pop("style", "")):  # the policy forbids styles beside the sheet
            token.attrJoin("class", style.partition(":")[2])
        return super().renderToken(tokens, idx, options, env)

    def citation(self, tokens: Sequence[Token], at: int, *_: object) -> str:
        about: Mapping[str, Any] = tokens[at].meta  # what `safe_markdown` put there
        reference = self._content.references[about["number"]]
        quotes = "".join(map(self._quote, reference.quotes_for(about["passage"])))
        return (
            f'<span class="cite"><a id="cite-{reference.number}-{about["place"]}" href="#ref-{reference.number}">'
            f'[{reference.number}]</a><span class="card" role="note"><span class="source" dir="auto">'
            f"{escape(reference.title)}</span>{_place(reference)}{quotes}</span></span>"
        )

    def _quote(self, claim: CheckedClaim) -> str:
        quote = " ".join(claim.quote.split())
        shown = quote if len(quote) <= _MAX_QUOTE_CHARS else f"{quote[:_MAX_QUOTE_CHARS]}…"
        said = word(f"check_{claim.check}", self._content.locale)
        return f'<q dir="auto">{escape(shown)}</q><span class="{claim.check}" dir="auto">{escape(said)}</span>'

    def reference(self, tokens: Sequence[Token], at: int, *_: object) -> str:
        about: Mapping[str, Any] = tokens[at].meta  # what `safe_markdown` put there
        number = about["number"]
        places = range(1, about["places"] + 1)
        back = "".join(f' <a href="#cite-{number}-{place}">{place}</a>' for place in places)
        arrow = f'<span class="back"> ↩{back}</span>' if back else ""
        return f"{arrow}{_place(self._content.references[number], whole=True)}"


def _place(reference: Reference, *, whole: bool = False) -> str:
    """Where a source lies, in words: its address, or in a card that of its site."""
    site = reference.url if whole or reference.link is None else urlsplit(reference.url).netloc
    return f'<span class="address" dir="ltr">{escape(site)}</span>'


@cache
def _style() -> str:
    return Path(__file__).with_name("web_page.css").read_text(encoding="utf-8")


@cache
def _policy() -> str:
    """Nothing may be loaded, sent or run; the style sheet is known by its hash."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
