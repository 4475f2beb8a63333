"""The forms that a report can be written in."""

from collections.abc import Callable
from enum import StrEnum

from deer.errors import ExtraMissing, SettingsError
from deer.exports.content import ReportContent

Writer = Callable[[ReportContent], bytes]


class Format(StrEnum):
    """How a report is written; the words are endings of file names too."""

    MARKDOWN = "md"
    HTML = "html"
    PDF = "pdf"
    WORD = "docx"
    JSON = "json"

    @property
    def is_document(self) -> bool:
        """Whether it is meant for a file and the program that opens it, not for reading in a terminal."""
        return self not in (Format.MARKDOWN, Format.JSON)


_EXTRAS = {Format.PDF: "pdf", Format.WORD: "office"}


def writer_of(form: Format) -> Writer:
    """What writes a report as a document. Raises SettingsError naming the extra that brings what is not installed."""
    try:
        return _writer_of(form)
    except ImportError as error:
        raise _not_installed(form, error.name) from None


def _writer_of(form: Format) -> Writer:
    # loaded for this form only: what another one needs may not be installed, and takes its time
    if form is Format.HTML:
        from deer.exports.web_page import web_page

        return lambda content: web_page(content).encode()
    if form is Format.WORD:
        from deer.exports.word_document import word_document

        return word_document
    if form is Format.PDF:
        from deer.exports.pdf_document import pdf_document

        return pdf_document
    raise ValueError(f"{form} is no document")


def _not_installed(form: Format, package: str | None) -> SettingsError:
    if form in _EXTRAS:
        return ExtraMissing(form, _EXTRAS[form])
    return SettingsError(f"{form} needs {package}, which is not installed; run: make setup")
