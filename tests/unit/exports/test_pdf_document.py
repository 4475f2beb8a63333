"""The report as a PDF, read back as a reader of PDFs does."""

import pypdfium2 as pdfium  # type: ignore[import-untyped]  # ships no types
import pytest

from deer.exports.pdf_document import pdf_document
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
    picture,
)

PICTURE_KIND = pdfium.raw.FPDF_PAGEOBJ_IMAGE
A4_POINTS = 595


def opened(body: str, **changes: str) -> pdfium.PdfDocument:
    """The PDF of a report with this body."""
    return pdfium.PdfDocument(pdf_document(content(body, **changes)))


def text_of(document: pdfium.PdfDocument) -> str:
    """What its pages say, line by line."""
    return "\n".join(page.get_textpage().get_text_range() for page in document).replace("\r\n", "\n")


def addresses(document: pdfium.PdfDocument) -> set[str]:
    """Everything outside itself that a document leads to."""
    found = set()
    for page in document:
        start, link = pdfium.raw.c_int(0), pdfium.raw.FPDF_LINK()
        while pdfium.raw.FPDFLink_Enumerate(page, start, link):
            action = pdfium.raw.FPDFLink_GetAction(link)
            length = pdfium.raw.FPDFAction_GetURIPath(document, action, None, 0)
            address = pdfium.raw.create_string_buffer(length)
            pdfium.raw.FPDFAction_GetURIPath(document, action, address, length)
            found.add(address.value.decode())
    return found - {""}


def test_text_of_every_script_is_found_again() -> None:
    """Chinese, Japanese, Korean, Arabic and Hebrew can be searched for in the PDF, on any machine."""
    text = text_of(opened(EVERYTHING))
    assert all(written in text for written in (CHINESE, JAPANESE, KOREAN, ARABIC, HEBREW))
    assert "Air [3] 8,000 one" in text
    assert 'print("[1] is no citation here")' in text
    assert "3. third" in text


def test_links_lead_to_seen_pages_only() -> None:
    """Of a hostile report the words stay, and links to what the run has seen."""
    document = opened(HOSTILE)
    assert addresses(document) == {PAGE, ARABIC_PAGE}
    assert "<script>alert(2)</script>" in text_of(document)


def test_a_report_is_no_program() -> None:
    """What the typesetter would take for its own language is text as any other."""
    written = '#read("/etc/passwd") $x$ *#strong[a]* @ref <label> \\ `#panic()` #import "@preview/x:1.0.0"'
    text = " ".join(text_of(opened(written)).split())
    assert '#read("/etc/passwd") $x$ #strong[a] @ref <label>' in text
    assert '#import "@preview/x:1.0.0"' in text


def test_pictures_are_in_the_file_and_no_wider_than_the_page() -> None:
    """A picture of the text is shown; a broken one is told in its words, and costs no report."""
    broken = "data:image/png;base64,AAAA"
    [page] = opened(f"![A chart]({picture(2_000)})\n\nBefore ![Broken]({broken}) after ![x](data:image/png;base64,A)")
    [shown] = page.get_objects(filter=[PICTURE_KIND])
    left, _, right, _ = shown.get_bounds()
    assert 300 < right - left < A4_POINTS
    assert "Before Broken after x" in page.get_textpage().get_text_range()


@pytest.mark.parametrize(
    "body",
    [
        ">" * 15 + " deep",
        "\n".join("  " * depth + "- deep" for depth in range(9)),
        "#\n\n| a |  |\n|---|---|\n|  | deep |\n\n-\n\n1.\n\n>\n\n[](https://a.example/x)",
        "999999999. deep",
        "a\x00\ud800\ufffe deep",
    ],
)
def test_no_form_of_markdown_keeps_a_report_from_being_set(body: str) -> None:
    """Deep nesting, empty parts and signs that cannot be printed are set somehow."""
    assert "deep" in text_of(opened(body))


def test_a_report_in_arabic_is_laid_out_from_the_right() -> None:
    """The first letter of a line stands at the right edge of the page, the numbers of lists beside it."""
    [page] = opened(f"{ARABIC} [1]\n\n1. {HEBREW}", title=ARABIC, locale="ar")
    words = page.get_textpage()
    begin = words.get_charbox(words.get_text_range().index(ARABIC[0]))
    assert begin[0] > A4_POINTS / 2
