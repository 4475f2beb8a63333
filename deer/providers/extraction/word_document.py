"""Word documents (DOCX) as Markdown.

Read from the file's own XML: libraries unpack all parts of it, pictures included, whatever their size, and leave out
what stands in content controls.
"""

import io
import zipfile
import zlib
from collections.abc import Iterator

from lxml import etree  # type: ignore[import-untyped]  # ships no types

from deer.providers.extraction.extracted import Extracted, Unextractable, extracted
from deer.providers.extraction.plain import markdown_table

MAX_XML_BYTES = 50_000_000
"""A part that unpacks to more is a bomb, or nobody's document."""

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DUBLIN = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"
_DOCUMENT, _STYLES, _ABOUT = "word/document.xml", "word/styles.xml", "docProps/core.xml"
_LEFT_OUT = frozenset(
    (
        *(f"{_W}{name}" for name in ("del", "moveFrom", "instrText", "delText")),
        "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
    )
)
"""What the author has taken out again, the codes of fields, and text boxes once more for older programs."""
_MAX_HEADING = 6


def extract_word_document(body: bytes) -> Extracted:
    """Headings, paragraphs, lists and tables of a document. Raises Unextractable when it is none."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            document = _part(archive, _DOCUMENT)
            styles = _part(archive, _STYLES)
            about = _part(archive, _ABOUT)
    except (zipfile.BadZipFile, zlib.error, etree.XMLSyntaxError, RuntimeError, EOFError):
        raise Unextractable("the Word document is damaged, incomplete or locked") from None
    if document is None:
        raise Unextractable("the file is an archive, not a Word document")
    blocks = list(_blocks(document.find(f"{_W}body"), _heading_levels(styles)))
    title = _said(about, f"{_DUBLIN}title") or next((block.lstrip("# ") for block in blocks if block[0] == "#"), "")
    published = (_said(about, f"{_TERMS}modified") or _said(about, f"{_TERMS}created"))[:10]
    return extracted(title, "\n\n".join(blocks), author=_said(about, f"{_DUBLIN}creator"), published=published)


def is_word_document(body: bytes) -> bool:
    """Whether an archive holds what a Word document is made of."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return _DOCUMENT in archive.namelist()
    except zipfile.BadZipFile:
        return False


def _part(archive: zipfile.ZipFile, name: str) -> etree._Element | None:
    """A part of the file as XML; None when there is none. It is unpacked no further than it may be long."""
    if name not in archive.namelist():
        return None
    with archive.open(name) as packed:
        xml = packed.read(MAX_XML_BYTES + 1)
    if len(xml) > MAX_XML_BYTES:
        raise Unextractable(f"the Word document unpacks to more than {MAX_XML_BYTES // 1_000_000} MB")
    return etree.fromstring(xml, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False))


def _heading_levels(styles: etree._Element | None) -> dict[str, int]:
    """The level of each style that makes a heading, by the id of the style: names are the same in all languages."""
    levels: dict[str, int] = {}
    for style in styles.iter(f"{_W}style") if styles is not None else ():
        name = style.find(f"{_W}name")
        words = (name.get(f"{_W}val", "") if name is not None else "").lower().split()
        if words == ["title"]:
            levels[style.get(f"{_W}styleId", "")] = 1
        elif len(words) == 2 and words[0] == "heading" and words[1].isdecimal():
            levels[style.get(f"{_W}styleId", "")] = min(int(words[1]), _MAX_HEADING)
    return levels


def _blocks(parent: etree._Element | None, levels: dict[str, int]) -> Iterator[str]:
    """The paragraphs and tables under an element, those in content controls too."""
    for element in parent if parent is not None else ():
        if element.tag == f"{_W}p":
            if text := _text_of(element):
                yield _marked(element, text, levels)
        elif element.tag == f"{_W}tbl":
            yield markdown_table(
                [
                    [" ".join(_text_of(p) for p in cell.iter(f"{_W}p")) for cell in row.iter(f"{_W}tc")]
                    for row in element.iter(f"{_W}tr")
                ]
            )
        elif element.tag not in _LEFT_OUT:
            yield from _blocks(element, levels)


def _marked(paragraph: etree._Element, text: str, levels: dict[str, int]) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    level = levels.get(style.get(f"{_W}val", ""), 0) if style is not None else 0
    if level:
        return f"{'#' * level} {text}"
    return f"- {text}" if paragraph.find(f"{_W}pPr/{_W}numPr") is not None else text


def _text_of(element: etree._Element) -> str:
    return "".join(_runs(element)).strip()


def _runs(element: etree._Element) -> Iterator[str]:
    for child in element:
        if child.tag in _LEFT_OUT:
            continue
        if child.tag == f"{_W}t":
            yield child.text or ""
        elif child.tag == f"{_W}tab":
            yield "\t"
        elif child.tag in (f"{_W}br", f"{_W}cr"):
            yield "\n"
        elif child.tag == f"{_W}noBreakHyphen":
            yield "-"
        elif child.tag != f"{_W}pPr":
            yield from _runs(child)


def _said(about: etree._Element | None, name: str) -> str:
    element = about.find(name) if about is not None else None
    return (element.text or "").strip() if element is not None else ""
