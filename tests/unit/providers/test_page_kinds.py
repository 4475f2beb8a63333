"""Pages of every kind as text: PDF and Word documents, tables, and what a server calls by the wrong name."""

import io
import zipfile

import pytest

from deer.errors import FailureKind
from deer.models import MAX_TITLE_CHARS, Page
from deer.ports import PageReader
from deer.providers.extraction import extracted
from deer.providers.extraction.pdf import extract_pdf
from deer.providers.extractor import Extracted
from tests.unit.providers.page_files import W, paragraph, pdf_file, word_file
from tests.unit.providers.reading import failure_of, page_of
from tests.unit.providers.web_server import Reply

PDF = {"Content-Type": "application/pdf"}
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
WORD = {"Content-Type": "application/vnd.openxmlformats-officedocument.wordprocessingml.document"}
REPORT = pdf_file(
    "Cold weather tests\nThe measured value is 30 percent, as the labora-\ntory wrote.",
    "A well-known figure was 2.5 on the first day, and the well-\nknown figure stayed so, which",
    "was more than expected. End of the report.",
    title="Heat pumps in winter",
    created="20240305101500Z",
)


def test_what_is_extracted_is_read_whole() -> None:
    """The program and its reader name the same fields, and titles end where those of sources do."""
    assert extracted.Extracted.__annotations__.keys() == Extracted.model_fields.keys()
    assert extracted.MAX_TITLE_CHARS == MAX_TITLE_CHARS


@pytest.mark.parametrize(
    "content_type", ["application/pdf", "text/html", "application/octet-stream", "", "text/plain", "image/png"]
)
async def test_a_pdf_is_read_whatever_its_server_calls_it(pages: PageReader, content_type: str) -> None:
    """Case W01: three pages arrive with their text, title and date, though the type says otherwise or nothing."""
    page = await page_of(pages, Reply(body=REPORT, headers={"Content-Type": content_type}))
    first, second, third = page.text.split("\f")
    assert "The measured value is 30 percent, as the laboratory wrote." in first
    assert "the well-known figure stayed so" in second
    assert third.startswith("was more than expected.")
    assert (page.title, page.published, page.cut) == ("Heat pumps in winter", "2024-03-05", False)


def test_of_a_pdf_that_takes_too_long_the_first_pages_are_read() -> None:
    """A PDF that is not through in its time gives what there is, marked as cut, rather than nothing."""
    page = extract_pdf(REPORT, seconds=0)
    assert page["cut"]
    assert page["text"].startswith("Cold weather tests")
    assert "End of the report" not in page["text"]


async def test_a_pdf_without_a_good_title_is_called_by_its_first_line(pages: PageReader) -> None:
    """A title that is the name of another file is none."""
    body = pdf_file("Cold weather tests\nThe measured value is 30 percent.", title="draft_v3.docx")
    assert (await page_of(pages, Reply(body=body, headers=PDF))).title == "Cold weather tests"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (pdf_file("", ""), "its pages may be pictures"),
        (b"%PDF-1.7 ...", "damaged or incomplete"),
        (REPORT[: len(REPORT) // 2], "damaged or incomplete"),
    ],
    ids=["scanned", "nothing", "half"],
)
async def test_a_pdf_without_text_says_why(pages: PageReader, body: bytes, told: str) -> None:
    """Case W01: a scanned or damaged PDF is refused in one line that names the reason and no trace of a program."""
    error = await failure_of(pages, Reply(body=body, headers=PDF))
    assert (error.kind, error.retryable) == (FailureKind.UNREADABLE, False)
    assert told in str(error)
    assert str(error).startswith("http://127.0.0.1:")
    assert "\n" not in str(error)


async def word_page(pages: PageReader, body: str) -> Page:
    return await page_of(pages, Reply(body=word_file(body, title="Minutes", author="Ann Lee"), headers=WORD))


async def test_a_word_document_is_markdown(pages: PageReader) -> None:
    """Headings, lists, tables and content controls arrive in order, what the author took out does not."""
    cells = "".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in ("Model", "COP"))
    values = "".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in ("A1", "3.2"))
    box = f"<w:txbxContent>{paragraph('In a text box.')}</w:txbxContent>"
    boxed = (
        f"<mc:AlternateContent {MC}><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    )
    body = (
        paragraph("Heat pumps", "H1")
        + paragraph("The measured value & the rest.")
        + "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>first point</w:t></w:r></w:p>"
        + f"<w:sdt><w:sdtContent>{paragraph('In a content control.')}</w:sdtContent></w:sdt>"
        + f"<w:p><w:r>{boxed}</w:r></w:p>"
        + "<w:p><w:del><w:r><w:delText>taken out</w:delText></w:r></w:del><w:r><w:t>kept</w:t></w:r></w:p>"
        + f"<w:tbl><w:tr>{cells}</w:tr><w:tr>{values}</w:tr></w:tbl>"
    )
    page = await word_page(pages, body)
    assert page.text == (
        "# Heat pumps\n\nThe measured value & the rest.\n\n- first point\n\n"
        "In a content control.\n\nIn a text box.\n\nkept\n\n"
        "| Model | COP |\n| --- | --- |\n| A1 | 3.2 |"
    )
    assert (page.title, page.author, page.published) == ("Minutes", "Ann Lee", "2024-03-05")


def archive_with(**parts: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml"), content)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (archive_with(a_xml=b"<a/>"), "an archive, not a Word document"),
        (word_file(paragraph("words"))[:200], "damaged, incomplete or locked"),
        (archive_with(word__document_xml=b" " * 60_000_000), "unpacks to more than 50 MB"),
        (
            archive_with(
                word__document_xml=b'<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
                + f"<w:document {W}><w:body><w:p><w:r><w:t>&e;</w:t></w:r></w:p></w:body></w:document>".encode()
            ),
            "holds no readable text",
        ),
    ],
    ids=["other archive", "half", "bomb", "entity"],
)
async def test_what_is_no_word_document_is_refused(pages: PageReader, body: bytes, told: str) -> None:
    """Other archives, halves and bombs are refused with the reason, and entities lead to no file."""
    assert told in str(await failure_of(pages, Reply(body=body, headers=WORD)))


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("Model,COP\nA1,3.2\n", "text/csv"),
        ("Model;COP\r\nA1;3.2\r\n", "text/csv; charset=utf-8"),
        ("Model\tCOP\nA1\t3.2\n", "text/tab-separated-values"),
    ],
)
async def test_tables_are_markdown(pages: PageReader, body: str, content_type: str) -> None:
    """Values with any usual delimiter become a table with a head."""
    page = await page_of(pages, Reply(body=body + "\n", headers={"Content-Type": content_type}))
    assert page.text == "| Model | COP |\n| --- | --- |\n| A1 | 3.2 |"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
        (b"\x7fELF\0\0\0 some binary", "text/plain"),
        (b"\x7fELF\0\0\0 some binary", "application/octet-stream"),
        (b'{"a": 1}', "application/json"),
    ],
)
async def test_other_types_are_told_in_words(pages: PageReader, body: bytes, content_type: str) -> None:
    """What is not read says so, by its declared type or by its first bytes, and names what is."""
    error = await failure_of(pages, Reply(body=body, headers={"Content-Type": content_type}))
    assert error.kind is FailureKind.UNREADABLE
    assert "cannot read this type" in str(error)
    assert "PDF, Word (DOCX)" in str(error)


async def test_a_file_above_the_cap_is_refused_where_a_part_is_of_no_use(pages: PageReader) -> None:
    """A PDF beyond the cap says how much is read; a text is read to the cap."""
    error = await failure_of(pages, Reply(body=b"%PDF-1.7\n" + bytes(11 * 2**20), headers=PDF))
    assert "larger than 10 MB" in str(error)


async def test_a_page_says_who_wrote_it_and_when(pages: PageReader) -> None:
    """Author and date that a web page declares arrive; a date that it only mentions does not."""
    meta = '<meta name="author" content="Ann Lee"><meta property="article:published_time" content="2024-03-05T08:00Z">'
    text = "<article>" + "<p>In 1999 the measured value was 30 percent, more than anyone had expected.</p>" * 10
    page = await page_of(pages, Reply(body=f"<html><head>{meta}<title>T</title></head><body>{text}</body></html>"))
    assert (page.author, page.published) == ("Ann Lee", "2024-03-05")
    page = await page_of(pages, Reply(body=f"<html><head><title>T</title></head><body>{text}</body></html>"))
    assert (page.author, page.published) == ("", "")
