"""The forms of a report, and what is said when one needs what is not installed."""

import sys

import pytest

from deer.cli.exits import ExitCode, run_and_report
from deer.errors import SettingsError
from deer.exports.formats import Format, writer_of
from tests.unit.exports.samples import EVERYTHING, content


@pytest.mark.parametrize(
    ("form", "beginning"), [(Format.HTML, b"<!DOCTYPE html>"), (Format.PDF, b"%PDF-"), (Format.WORD, b"PK\x03\x04")]
)
def test_every_document_is_of_its_kind(form: Format, beginning: bytes) -> None:
    """What is written is what programs for that kind of file take, and the same each time it is a page."""
    written = writer_of(form)(content(EVERYTHING))
    assert written.startswith(beginning)
    assert form is not Format.HTML or written == writer_of(form)(content(EVERYTHING))


@pytest.mark.parametrize(
    ("form", "package", "extra"),
    [("pdf", "typst", "pdf"), ("pdf", "manimgx_fonts_cjk", "pdf"), ("docx", "docx", "office")],
)
def test_a_missing_extra_is_named_before_anything_is_done(
    form: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what is missing and the command that brings it; no server is asked for the run."""
    for module in ("deer.exports.pdf_document", "deer.exports.word_document"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SettingsError, match=f"{form} needs the extra `{extra}`, which is not installed"):
        writer_of(Format(form))
    assert run_and_report(["report", "r1", "--format", form]) == ExitCode.REFUSED
    written = capsys.readouterr()
    assert f"make setup EXTRAS={extra}" in written.err
    assert (written.out, written.err.count("\n")) == ("", 1)
