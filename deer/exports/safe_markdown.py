"""The Markdown of a report as a tree that is safe to show: every export walks it, none reads the text itself.

What a model wrote is not trusted. Raw HTML stays text. A link is kept when the run has seen its address, and leads to
that address; an image when it lies in the text itself (`data:`), so that showing a report loads nothing. The words of
all others stay. A citation `[3]` becomes a node of its own, and the entries of the list of references are marked.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from deer.exports.content import ReportContent
from deer.wording import word

CITATION, REFERENCE = "citation", "reference"
"""Types of the nodes that Markdown does not have. Their `meta` is `{number, place, passage}` and `{number, places}`."""

IMAGE_DATA = re.compile(r"data:image/(png|jpeg|gif|webp);base64,([A-Za-z0-9+/=\s]+)", re.IGNORECASE)

_MARKER = re.compile(r"\[(\d{1,3})\]")


class _Reader(MarkdownIt):
    """Takes every address for one, so that a refused link loses its address and not only its effect."""

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the name that the library calls
        return True


def _reader() -> MarkdownIt:
    # without `text_join` what was escaped stays apart, so that `\\[1\\]` in a title is no citation
    return _Reader("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("text_join")


def safe_tokens(content: ReportContent) -> list[Token]:
    """The report as the tokens of markdown-it."""
    tokens = _reader().parse(content.markdown)
    places: Counter[int] = Counter()
    for token in tokens:
        if token.type == "inline":
            token.children = list(_safe_children(token, content, places))
    return list(_with_references(tokens, content, places))


def safe_tree(content: ReportContent) -> SyntaxTreeNode:
    """The same as a tree."""
    return SyntaxTreeNode(safe_tokens(content))


def addresses_and_markers(markdown: str) -> tuple[set[str], set[int]]:
    """The addresses that a report links to, and the numbers that it cites, whether or not anything is known of them."""
    addresses: set[str] = set()
    numbers: set[int] = set()
    for inline in (token for token in _reader().parse(markdown) if token.type == "inline"):
        depth = 0
        for child in inline.children or ():
            depth += child.nesting if child.type in ("link_open", "link_close") else 0
            if child.type == "link_open":
                addresses.add(str(child.attrs.get("href", "")))
            elif child.type == "text" and depth == 0:
                numbers |= {int(number) for number in _MARKER.findall(child.content)}
    return addresses, numbers


def text_of(node: SyntaxTreeNode) -> str:
    """All that a node shows, as plain text."""
    own = node.content if not node.children else ""
    if node.type in ("softbreak", "hardbreak"):
        return " "
    return own + "".join(map(text_of, node.children))


def _safe_children(inline: Token, content: ReportContent, places: Counter[int]) -> Iterator[Token]:
    citing = _Citing(content, places)
    kept: list[bool] = []
    """Of the links around a token, outermost first, which are kept."""
    for child in inline.children or ():
        if child.type == "link_open":
            address = content.seen_address(str(child.attrs.get("href", "")))
            kept.append(address is not None)
            if address is not None:
                child.attrs = {"href": address, "rel": "noopener noreferrer nofollow"}
                yield child
        elif child.type == "link_close":
            if kept.pop():
                yield child
        elif child.type == "image":
            yield _safe_image(child)
        elif child.type == "text" and not kept:  # words of a link, kept or not, are somebody's title
            yield from citing.split(child.content)
        elif child.type == "text_special":
            citing.passage += child.content
            yield _text(child.content)
        else:
            citing.passage += child.content
            yield child


def _safe_image(image: Token) -> Token:
    source = str(image.attrs.get("src", ""))
    if IMAGE_DATA.fullmatch(source):
        image.attrs = {"src": source, "alt": ""}
        return image
    return _text(image.content)


class _Citing:
    """Finds the citations in the text of one block. `passage`: what was written since the last one."""

    def __init__(self, content: ReportContent, places: Counter[int]) -> None:
        self._content, self._places = content, places
        self.passage = self._last_passage = ""

    def split(self, text: str) -> Iterator[Token]:
        end = 0
        for marker in _MARKER.finditer(text):
            number = int(marker[1])
            if number not in self._content.references:
                continue
            between = text[end : marker.start()]
            yield _text(between)
            # a marker right after another one cites for the same words
            passage = (self.passage + between).strip() or self._last_passage
            self.passage, self._last_passage = "", passage
            self._places[number] += 1
            about = {"number": number, "place": self._places[number], "passage": passage}
            yield Token(CITATION, "", 0, content=marker[0], meta=about)
            end = marker.end()
        self.passage += text[end:]
        yield _text(text[end:])


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _with_references(tokens: list[Token], content: ReportContent, places: Counter[int]) -> Iterator[Token]:
    """Put a reference at the end of each entry of the list that code wrote."""
    begin, end = _reference_list(tokens, word("references", content.locale))
    number = 0
    if begin < end:
        number = int(tokens[begin].attrs.get("start", 1))
        tokens[begin].attrSet("class", "references")
    for at, token in enumerate(tokens):
        is_entry = begin < at < end and token.level == 1
        if is_entry and token.type == "list_item_open" and number in content.references:
            token.attrs = {"id": f"ref-{number}"}
        elif is_entry and token.type == "list_item_close":
            if number in content.references:
                yield Token(REFERENCE, "", 0, block=True, meta={"number": number, "places": places[number]})
            number += 1
        yield token


def _reference_list(tokens: list[Token], heading: str) -> tuple[int, int]:
    """First and last token of the list under the last heading of that name; an empty range when there is none."""
    headings = [
        at for at, token in enumerate(tokens) if token.type == "heading_open" and tokens[at + 1].content == heading
    ]
    after = headings[-1] + 3 if headings else len(tokens)
    if after >= len(tokens) or tokens[after].type != "ordered_list_open":
        return 0, 0
    return after, next(at for at in _ends(tokens, after) if tokens[at].type == "ordered_list_close")


def _ends(tokens: list[Token], begin: int) -> Iterable[int]:
    return (at for at in range(begin, len(tokens)) if tokens[at].level == 0)
