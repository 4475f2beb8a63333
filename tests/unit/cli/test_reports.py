"""Reports in files."""

import os
import stat
from pathlib import Path

import pytest

from deer.cli.reports import report_path, save_text, with_saved_path
from deer.errors import Refused
from deer.models import Phase, ReportStatus
from tests.unit.cli.scripted_run import status


def test_a_report_is_saved_whole_and_says_where(tmp_path: Path) -> None:
    """A report lands in its file with a line end, folders are made, and nothing else stays behind."""
    path = save_text(tmp_path / "a" / "r1.md", "# 热泵")
    assert path.is_absolute()
    assert path.read_text(encoding="utf-8") == "# 热泵\n"
    assert list(path.parent.iterdir()) == [path]


def test_no_run_is_saved_outside_the_reports(tmp_path: Path) -> None:
    """A run that was started elsewhere may have any name; its report still lands among the reports."""
    assert report_path(tmp_path, "../../etc/x").parent == tmp_path / "reports"


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """`--output /dev/null` leaves the device what it is."""
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    save_text(link, "text")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_report_that_cannot_be_saved_names_the_file(tmp_path: Path) -> None:
    """A folder in the place of the file is told with the remedy."""
    with pytest.raises(Refused, match=r"cannot be written.*--output"):
        save_text(tmp_path, "text")


def test_the_saved_report_is_found_again(tmp_path: Path) -> None:
    """The status says where the report is on this machine, and nothing where it is not."""
    finished = status(Phase.COMPLETED, report=ReportStatus(markdown="# R", path=None, claims=()))
    assert with_saved_path(finished, tmp_path).report == finished.report
    path = save_text(report_path(tmp_path, "r1"), "# R")
    saved = with_saved_path(finished, tmp_path).report
    assert saved is not None
    assert saved.path == str(path)


def test_a_report_goes_into_a_pipe_that_is_read(tmp_path: Path) -> None:
    """A pipe under its own name, and one that only a file descriptor names as /dev/stdout may do, take the report."""
    reader, writer = os.pipe()
    with os.fdopen(reader, encoding="utf-8") as read:
        save_text(Path(f"/dev/fd/{writer}"), "text")
        os.close(writer)
        assert read.read() == "text\n"


def test_a_pipe_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    """`--output` to a pipe without a reader ends with an error that names it, instead of waiting for one for ever."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Refused, match=r"pipe cannot be written.*--output"):
        save_text(tmp_path / "pipe", "text")
