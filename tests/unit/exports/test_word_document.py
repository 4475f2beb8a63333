"""The report as a Word document, read back with the library that Word files are read with."""

import base64
import struct
from io import BytesIO

import pytest
from docx import Document
from docx.document import Document as WordDocument
from docx.enum.table import WD_TABLE_DIRECTION
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph

from deer.exports.directions import begins_right_to_left, is_right_to_left, parts_by_direction
from deer.exports.word_document import word_document
from tests.unit.exports.samples import (
    ARABIC,
    ARABIC_PAGE,
    CHINESE,
    EVERYTHING,
    HEBREW,
    HOSTILE,
    JAPANESE,
    KOREAN,
    PAGE,
    content,
)


def opened(body: str, **changes: str) -> WordDocument:
    """The document of a report with this body."""
    return Document(BytesIO(word_document(content(body, **changes))))


def addresses(document: WordDocument) -> set[str]:
    """Everything outside itself that a document leads to."""
    return {related.target_ref for related in document.part.rels.values() if related.is_external}


def found(document: WordDocument, text: str) -> Paragraph:
    """The paragraph that holds a text."""
    return next(paragraph for paragraph in document.paragraphs if text in paragraph.text)


def style_of(paragraph: Paragraph) -> str | None:
    """The name of a paragraph's style."""
    return paragraph.style.name if paragraph.style else None


def test_text_of_every_script_is_found_again() -> None:
    """Chinese, Japanese, Korean, Arabic and Hebrew stand in the document; what is read from right to left says so."""
    document = opened(EVERYTHING)
    text = "\n".join(paragraph.text for paragraph in document.paragraphs)
    assert all(written in text for written in (CHINESE, JAPANESE, KOREAN, ARABIC, HEBREW))
    assert found(document, HEBREW).paragraph_format.element.find(f".//{qn('w:bidi')}") is not None
    assert found(document, CHINESE).paragraph_format.element.find(f".//{qn('w:bidi')}") is None
    arabic = next(run for run in found(document, ARABIC).runs if ARABIC in run.text)
    assert arabic.font.rtl
    fonts = document.styles["Normal"].element.rPr.rFonts
    assert fonts.get(qn("w:eastAsia")) == "Microsoft YaHei"


def test_tables_lists_code_and_pictures_are_words_own() -> None:
    """A table is a table with a heading that repeats, lists number from where they begin, a picture is in the file."""
    document = opened(EVERYTHING)
    [table] = document.tables
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["Machine", "价格", ARABIC],
        ["Air [3]", "8,000", "one"],
        [HEBREW, "9,000", "two"],
    ]
    assert table.rows[0].cells[0].paragraphs[0].runs[0].bold
    assert (
        next(table.rows[0].cells[0].paragraphs[0].paragraph_format.element.iterancestors(qn("w:tr"))).find(
            f".//{qn('w:tblHeader')}"
        )
        is not None
    )
    styles = {text: style_of(found(document, text)) for text in ("first", "nested", "third", "quoted", "Heat pumps")}
    assert styles == {
        "first": "List Bullet",
        "nested": "List Bullet 2",
        "third": "List Number",
        "quoted": "Quote",
        "Heat pumps": "Heading 1",
    }
    starts = [
        found(document, text).paragraph_format.element.pPr.numPr.numId.val for text in ("third", "The first page")
    ]
    assert len(set(starts)) == 2
    assert 'print("[1] is no citation here")' in found(document, "print").text
    assert len(document.inline_shapes) == 1


def test_citations_lead_to_the_references_and_those_to_pages() -> None:
    """A marker leads to a bookmark at its entry, which has the address as a link and in words."""
    document = opened("It needs less energy. [1]")
    [link, *_] = found(document, "less energy").hyperlinks
    assert (link.text, link.fragment) == ("[1]", "ref-1")
    entry = found(document, "The first page")
    assert entry.paragraph_format.element.find(qn("w:bookmarkStart")).get(qn("w:name")) == "ref-1"
    assert entry.hyperlinks[0].address == PAGE
    assert found(document, PAGE).text == PAGE


def test_nothing_hostile_leads_out_of_the_document() -> None:
    """Only seen pages are linked, and no picture, template or frame is fetched from elsewhere."""
    document = opened(HOSTILE)
    assert addresses(document) == {PAGE, ARABIC_PAGE}
    kinds = {related.reltype for related in document.part.rels.values() if related.is_external}
    assert kinds == {RELATIONSHIP_TYPE.HYPERLINK}
    assert "<script>alert(2)</script>" in found(document, "alert(2)").text


def png(width: int, height: int) -> bytes:
    """As much of a picture of this many points as says how large it is."""
    header = b"IHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + bytes(4) + bytes(4) + b"IEND" + bytes(4)


def as_address(kind: str, content: bytes) -> str:
    """The address of a picture that lies in the text itself."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


@pytest.mark.parametrize(
    "source",
    [
        "data:image/webp;base64,UklGRg==",
        "data:image/png;base64,AAA",
        as_address("gif", b"GIF89a"),
        as_address("jpeg", bytes.fromhex("ffd8ffe000104a46494600010100000100010000")),
        as_address("png", png(0, 7)),
    ],
    ids=["webp", "no base64", "gif without its size", "jpeg without its end", "png of no width"],
)
def test_a_picture_that_word_cannot_show_is_told_in_words(source: str) -> None:
    """A picture of a kind that Word has not, without its end or without a size, costs no report."""
    document = opened(f"Before ![The chart]({source}) after")
    assert found(document, "Before").text == "Before The chart after"


@pytest.mark.parametrize(("width", "height"), [(4_000, 1_000), (1, 2**31 - 1), (2**31 - 1, 2**31 - 1)])
def test_a_picture_is_no_larger_than_the_page(width: int, height: int) -> None:
    """Whatever size a picture says it has, it is shown within the margins of the page, and every part has a size."""
    document = opened(f"![The chart]({as_address('png', png(width, height))})")
    section, (picture,) = document.sections[0], document.inline_shapes
    wide = (section.page_width or 0) - (section.left_margin or 0) - (section.right_margin or 0)
    high = (section.page_height or 0) - (section.top_margin or 0) - (section.bottom_margin or 0)
    assert 0 < picture.width <= wide
    assert 0 < picture.height <= high


def test_signs_that_no_document_can_hold_are_left_out() -> None:
    """Control characters and halves of signs, which a page may hold, do not keep a report from being written."""
    document = opened("a\x00b\x0bc\ud800d\ufffee")
    assert found(document, "abc").text == "abcde"


def test_a_table_of_a_report_in_arabic_begins_on_the_right() -> None:
    """Its columns go from right to left."""
    [table] = opened(f"| {ARABIC} | {HEBREW} |\n|---|---|\n| 1 | 2 |", title=ARABIC).tables
    assert table.table_direction == WD_TABLE_DIRECTION.RTL


def test_directions_are_those_of_the_letters() -> None:
    """Signs without a direction go with what is before them, and a text begins with its first letter."""
    assert list(parts_by_direction(f"12 {ARABIC} (3.5) end.")) == [(f"12 {ARABIC} (3.5) ", True), ("end.", False)]
    assert list(parts_by_direction("plain")) == [("plain", False)]
    assert list(parts_by_direction("")) == []
    assert begins_right_to_left(f"(1) {HEBREW} then English")
    assert not begins_right_to_left("123")
    assert is_right_to_left(f"{ARABIC} and")
