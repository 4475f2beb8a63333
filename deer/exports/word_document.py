"""A report as a Word document: headings, lists, tables, links and pictures as Word has them, in any script."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

from docx import Document
from docx.document import Document as WordDocument
from docx.enum.table import WD_TABLE_DIRECTION
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.image.image import Image
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Emu, Pt, RGBColor
from docx.table import _Cell
from docx.text.paragraph import Paragraph
from docx.text.run import Run
from markdown_it.tree import SyntaxTreeNode

from deer.exports.content import ReportContent
from deer.exports.directions import begins_right_to_left, is_right_to_left, parts_by_direction
from deer.exports.safe_markdown import IMAGE_DATA, safe_tree, text_of

_LINK_COLOUR, _FAINT = RGBColor(0x0B, 0x57, 0xA4), RGBColor(0x5C, 0x66, 0x70)
_DEEPEST_LIST = 3
"""Word's own styles of lists go no deeper."""

_EAST_ASIAN_FONTS = {"ja": "Yu Gothic", "ko": "Malgun Gothic", "zh": "Microsoft YaHei"}
"""Names for Word to look for; where a machine lacks one, Word takes another that has the signs."""

_ALIGNMENTS = {"center": WD_ALIGN_PARAGRAPH.CENTER, "right": WD_ALIGN_PARAGRAPH.RIGHT}

Holder = WordDocument | _Cell
"""What paragraphs and tables are added to."""


def word_document(content: ReportContent) -> bytes:
    """The report as a .docx file. Citations lead to the list of references, which has each address in words."""
    return _Writer(content).write()


@dataclass(frozen=True)
class _Place:
    """Where a block goes: into what, how deep in lists, and in which style instead of its own."""

    holder: Holder
    depth: int = 0
    style: str | None = None


@dataclass(frozen=True)
class _Look:
    """How a piece of text looks."""

    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    is_link: bool = False
    is_faint: bool = False


@dataclass(frozen=True)
class _Picture:
    """The file of a picture, and its size in the unit of Word, 914,400 to the inch, neither side 0."""

    content: bytes
    width: int
    height: int


class _Writer:
    def __init__(self, content: ReportContent) -> None:
        self._content = content
        self._document = Document()
        self._bookmarks = 0
        # by name once: the library searches all of them for each paragraph
        self._style_ids = {style.name: style.style_id for style in self._document.styles}

    def write(self) -> bytes:
        self._set_up()
        self._blocks(safe_tree(self._content).children, _Place(self._document))
        written = BytesIO()
        self._document.save(written)
        return written.getvalue()

    def _set_up(self) -> None:
        about = self._document.core_properties
        about.title, about.language, about.author = self._content.title[:255], self._content.locale, ""
        fonts = self._document.styles["Normal"].element.get_or_add_rPr().get_or_add_rFonts()
        language = self._content.locale.partition("-")[0]
        fonts.set(qn("w:eastAsia"), _EAST_ASIAN_FONTS.get(language, _EAST_ASIAN_FONTS["zh"]))
        fonts.set(qn("w:cs"), "Arial")

    # Blocks

    def _blocks(self, nodes: Sequence[SyntaxTreeNode], place: _Place) -> None:
        for node in nodes:
            self._block(node, place)

    def _block(self, node: SyntaxTreeNode, place: _Place) -> None:
        if node.type == "heading":
            self._fill(self._paragraph(place, f"Heading {node.tag[1:]}", text_of(node)), node)
        elif node.type == "paragraph":
            self._fill(self._paragraph(place, place.style or "Normal", text_of(node)), node)
        elif node.type in ("bullet_list", "ordered_list"):
            self._list(node, place)
        elif node.type == "blockquote":
            self._blocks(node.children, replace(place, style="Quote"))
        elif node.type in ("fence", "code_block"):
            self._code(node.content, place)
        elif node.type == "table":
            self._table(node, place)
        elif node.type == "hr":
            self._rule(place)
        else:
            raise ValueError(f"a report has no {node.type}")

    def _paragraph(self, place: _Place, style: str, text: str) -> Paragraph:
        """A new paragraph that is read as its text begins; the empty one that a cell begins with is taken first."""
        paragraphs = place.holder.paragraphs if isinstance(place.holder, _Cell) else []
        is_new_cell = len(paragraphs) == 1 and not paragraphs[0].runs
        paragraph = paragraphs[0] if is_new_cell else place.holder.add_paragraph()
        _xml_of(paragraph).style = self._style_ids[style]
        if begins_right_to_left(text):
            _xml_of(paragraph).get_or_add_pPr().append(OxmlElement("w:bidi"))
        return paragraph

    def _list(self, node: SyntaxTreeNode, place: _Place) -> None:
        depth = min(place.depth + 1, _DEEPEST_LIST)
        level = f" {depth}" if depth > 1 else ""
        is_ordered = node.type == "ordered_list"
        name = ("List Number" if is_ordered else "List Bullet") + level
        numbering = self._numbering(name, int(node.attrs.get("start", 1))) if is_ordered else None
        for item in node.children:
            style = name
            for child in item.children:
                if child.type == "paragraph":
                    anchor = item.attrs.get("id")
                    # titles in the list of references lie as the page does, beside their numbers
                    text = self._content.markdown if anchor else text_of(child)
                    paragraph = self._paragraph(place, style, text)
                    if style == name and numbering is not None:
                        self._number(paragraph, numbering)
                    if style == name and anchor:
                        self._bookmark(paragraph, str(anchor))
                    self._fill(paragraph, child)
                    style = f"List Continue{level}"
                elif child.type == "reference":
                    self._reference(self._paragraph(place, f"List Continue{level}", self._content.markdown), child)
                else:
                    self._block(child, replace(place, depth=depth, style=f"List Continue{level}"))

    def _numbering(self, style: str, start: int) -> int:
        """A numbering of its own, without which Word would count on from the list before."""
        numbering = self._document.part.numbering_part.element
        of_style = self._document.styles[style].element.pPr.numPr.numId.val
        abstract = next(num.abstractNumId.val for num in numbering.num_lst if num.numId == of_style)
        num = numbering.add_num(abstract)
        num.add_lvlOverride(ilvl=0).add_startOverride(start)
        return int(num.numId)

    @staticmethod
    def _number(paragraph: Paragraph, numbering: int) -> None:
        properties = _xml_of(paragraph).get_or_add_pPr().get_or_add_numPr()
        properties.get_or_add_ilvl().val = 0
        properties.get_or_add_numId().val = numbering

    def _code(self, text: str, place: _Place) -> None:
        paragraph = self._paragraph(place, "No Spacing", "")
        lines = text.rstrip("\n").split("\n")
        for number, line in enumerate(lines):
            run = self._run(paragraph, _xml_of(paragraph), line, _Look(code=True))
            if number < len(lines) - 1:
                run.add_break()
        paragraph.paragraph_format.space_after = Pt(8)

    def _table(self, node: SyntaxTreeNode, place: _Place) -> None:
        rows = [row for part in node.children for row in part.children]
        columns = len(rows[0].children)
        if isinstance(place.holder, _Cell):
            raise ValueError("a report has no table within a table")
        table = place.holder.add_table(len(rows), columns, style="Table Grid")
        if is_right_to_left(text_of(node)):
            table.table_direction = WD_TABLE_DIRECTION.RTL
        for row, cells in zip(rows, table.rows, strict=True):
            for cell_node, cell in zip(row.children, cells.cells, strict=True):
                paragraph = self._paragraph(_Place(cell), "Normal", text_of(cell_node))
                paragraph.paragraph_format.space_after = Pt(0)
                side = str(cell_node.attrs.get("style", "")).rpartition(":")[2]
                if side in _ALIGNMENTS:
                    paragraph.alignment = _ALIGNMENTS[side]
                self._fill(paragraph, cell_node, _Look(bold=cell_node.type == "th"))
        heading = next(_xml_of(table.cell(0, 0).paragraphs[0]).iterancestors(qn("w:tr")))
        heading.get_or_add_trPr().append(OxmlElement("w:tblHeader"))  # again on each page
        place.holder.add_paragraph().paragraph_format.space_after = Pt(0)  # else two tables would become one

    def _rule(self, place: _Place) -> None:
        border = OxmlElement("w:bottom")
        for name, value in (("val", "single"), ("sz", "6"), ("space", "1"), ("color", "auto")):
            border.set(qn(f"w:{name}"), value)
        borders = OxmlElement("w:pBdr")
        borders.append(border)
        _xml_of(self._paragraph(place, "Normal", "")).get_or_add_pPr().append(borders)

    # What is within a block

    def _fill(self, paragraph: Paragraph, node: SyntaxTreeNode, look: _Look = _Look()) -> None:
        for child in node.children:
            self._inline(paragraph, _xml_of(paragraph), child, look)

    def _inline(self, paragraph: Paragraph, parent: Any, node: SyntaxTreeNode, look: _Look) -> None:
        """Add a node to an element of the paragraph: the paragraph itself, or a link in it."""
        if node.type == "text":
            self._run(paragraph, parent, node.content, look)
        elif node.type == "code_inline":
            self._run(paragraph, parent, node.content, replace(look, code=True))
        elif node.type == "softbreak":
            self._run(paragraph, parent, " ", look)
        elif node.type == "hardbreak":
            self._run(paragraph, parent, "", look).add_break()
        elif node.type == "image":
            self._picture(paragraph, parent, node)
        elif node.type == "citation":
            anchor = f"ref-{node.meta['number']}"
            self._run(paragraph, self._link(paragraph, anchor=anchor), node.content, replace(look, is_link=True))
        else:
            parent = self._link(paragraph, address=str(node.attrs["href"])) if node.type == "link" else parent
            inner = _looks_within(node.type, look)
            for child in node.children:
                self._inline(paragraph, parent, child, inner)

    def _run(self, paragraph: Paragraph, parent: Any, text: str, look: _Look) -> Run:
        """Add text in runs of one direction each; returns the last of them."""
        parts = list(parts_by_direction(text)) or [("", False)]
        return [self._one_run(paragraph, parent, part, look, is_turned) for part, is_turned in parts][-1]

    @staticmethod
    def _one_run(paragraph: Paragraph, parent: Any, text: str, look: _Look, is_turned: bool) -> Run:
        xml: Any = OxmlElement("w:r")  # an element of the library, which has its own class for it
        parent.append(xml)
        run = Run(xml, paragraph)
        run.text = text
        run.bold, run.italic, run.font.strike = look.bold or None, look.italic or None, look.strike or None
        run.font.rtl = is_turned or None
        if look.code:
            run.font.name = "Consolas"
        if look.is_link:
            run.font.color.rgb, run.font.underline = _LINK_COLOUR, True
        if look.is_faint:
            run.font.color.rgb, run.font.size = _FAINT, Pt(9)
        return run

    def _link(self, paragraph: Paragraph, *, address: str = "", anchor: str = "") -> Any:
        """A link out of the document, or to a bookmark in it; runs are put into it."""
        link = OxmlElement("w:hyperlink")
        if address:
            link.set(qn("r:id"), paragraph.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
        else:
            link.set(qn("w:anchor"), anchor)
        _xml_of(paragraph).append(link)
        return link

    def _bookmark(self, paragraph: Paragraph, name: str) -> None:
        self._bookmarks += 1
        for kind in ("Start", "End"):
            mark = OxmlElement(f"w:bookmark{kind}")
            mark.set(qn("w:id"), str(self._bookmarks))
            if kind == "Start":
                mark.set(qn("w:name"), name)
            _xml_of(paragraph).append(mark)

    def _reference(self, paragraph: Paragraph, node: SyntaxTreeNode) -> None:
        """The address of a source in words, for paper."""
        reference = self._content.references[node.meta["number"]]
        paragraph.paragraph_format.space_after = Pt(4)
        self._run(paragraph, _xml_of(paragraph), reference.url, _Look(is_faint=True))

    def _picture(self, paragraph: Paragraph, parent: Any, node: SyntaxTreeNode) -> None:
        """A picture no larger than the page; one that cannot be read, or has no size, is told in its words."""
        run = self._run(paragraph, parent, "", _Look())
        picture = _read_picture(str(node.attrs["src"]))
        if picture is None:
            run.text = text_of(node)
            return
        section = self._document.sections[0]
        wide = (section.page_width or 0) - (section.left_margin or 0) - (section.right_margin or 0)
        high = (section.page_height or 0) - (section.top_margin or 0) - (section.bottom_margin or 0)
        share = min(1.0, wide / picture.width, high / picture.height)
        width, height = (Emu(max(1, int(side * share))) for side in (picture.width, picture.height))
        run.add_picture(BytesIO(picture.content), width, height)
        for about in run.font.element.iter(qn("wp:docPr")):
            about.set("descr", text_of(node))


def _read_picture(address: str) -> _Picture | None:
    """The picture that lies in a `data:` address; None when it is broken, or of a kind that Word has not."""
    data = IMAGE_DATA.fullmatch(address)
    try:
        content = base64.b64decode(data[2] if data else "")
    except ValueError:
        return None
    try:
        image = Image.from_blob(content)
        width, height = int(image.width), int(image.height)
    except Exception:  # noqa: BLE001 - the library raises whatever its parsers run into, a bare Exception too
        return None
    return _Picture(content, width, height) if width > 0 and height > 0 else None


def _xml_of(paragraph: Paragraph) -> Any:  # an element of the library, which has no types for what is done with it
    """The element beneath a paragraph: the library has no names for links, bookmarks and directions."""
    return paragraph.paragraph_format.element


def _looks_within(kind: str, look: _Look) -> _Look:
    changes: dict[str, dict[str, bool]] = {
        "strong": {"bold": True},
        "em": {"italic": True},
        "s": {"strike": True},
        "link": {"is_link": True},
    }
    return replace(look, **changes.get(kind, {}))
