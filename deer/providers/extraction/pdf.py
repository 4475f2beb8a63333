"""PDF documents as text, page by page."""

import re
import time

import pypdfium2  # type: ignore[import-untyped]  # ships no types

from deer.providers.extraction.extracted import MAX_TEXT_CHARS, PAGE_BREAK, Extracted, Unextractable, extracted

_HYPHEN_CODE = "\x02"
"""What the library gives for a hyphen at the end of a line, with the line end left out."""
# Possessive and from the beginning of a word, so that no other way through the word is tried.
_BROKEN_WORD = re.compile(rf"(?<![^\W\d_])([^\W\d_]++)(?:{_HYPHEN_CODE}|[-\u2010\u00ad]\r?\n)([^\W\d_]+)")
_WORD = re.compile(r"[^\W\d_]+")
# Written without spaces: a line end between two such characters is none of the text.
_CJK_LINE_END = re.compile(r"(?<=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef])\r?\n(?=[\u3000-\u30ff\u3400-\u9fff])")
_PASSWORD_ERROR = 4
_FEWEST_LETTERS = 20
_TITLE_LINE_CHARS = 120
_FILE_NAME = re.compile(r"\.(docx?|pdf|tex|indd|pptx?|xlsx?|dvi|odt)$|^(untitled|microsoft \w+ - )", re.IGNORECASE)
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)")


def extract_pdf(body: bytes, seconds: float) -> Extracted:
    """The text of a PDF, its pages parted by `PAGE_BREAK`, of as many pages as can be read in so many seconds.

    Raises Unextractable: damaged, locked, or only pictures.
    """
    ends = time.monotonic() + seconds
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        is_locked = getattr(error, "err_code", None) == _PASSWORD_ERROR
        why = "the PDF is locked with a password" if is_locked else "the PDF is damaged or incomplete"
        raise Unextractable(why) from None
    pages: list[str] = []
    chars = 0
    for number in range(len(document)):
        if pages and (chars > MAX_TEXT_CHARS or time.monotonic() > ends):
            break
        pages.append(_text_of_page(document, number))
        chars += len(pages[-1])
    text = _mended(PAGE_BREAK.join(pages))
    if sum(1 for character in text[:10_000] if character.isalnum()) < _FEWEST_LETTERS:
        raise Unextractable("the PDF holds no text that can be read (its pages may be pictures)")
    about = document.get_metadata_dict()
    date = _DATE.match(about.get("CreationDate", ""))
    return extracted(
        _title_of(about.get("Title", ""), pages[0]),
        text,
        author=about.get("Author", ""),
        published="-".join(date.groups()) if date else "",
        cut=len(pages) < len(document),
    )


def _text_of_page(document: pypdfium2.PdfDocument, number: int) -> str:
    """A page that is damaged has no text, so that the others keep their numbers."""
    try:
        page = document[number]
        text = str(page.get_textpage().get_text_bounded())
        page.close()
    except pypdfium2.PdfiumError:
        return ""
    return text.replace("\f", " ")


def _mended(text: str) -> str:
    """The text with words and sentences whole that line ends had cut.

    A hyphen at the end of a line stays where both halves are words of the text, and the whole is none.
    """
    words = {word.lower() for word in _WORD.findall(_BROKEN_WORD.sub(" ", text))}

    def joined(broken: re.Match[str]) -> str:
        first, second = broken.groups()
        is_compound = first.lower() in words and second.lower() in words and (first + second).lower() not in words
        return f"{first}-{second}" if is_compound or second[0].isupper() else first + second

    text = _BROKEN_WORD.sub(joined, text).replace(_HYPHEN_CODE, "-")
    return _CJK_LINE_END.sub("", text)


def _title_of(declared: str, first_page: str) -> str:
    """The title that the file declares, unless that is the name of some other file; else the first line."""
    if declared.strip() and not _FILE_NAME.search(declared.strip()):
        return declared
    first_line = first_page.strip().partition("\n")[0].strip()
    return first_line if len(first_line) <= _TITLE_LINE_CHARS else ""
