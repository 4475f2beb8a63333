"""Reports in files."""

import os
from pathlib import Path
from urllib.parse import quote

from deer.errors import InvalidInput, Refused
from deer.models import RunStatus


def report_path(data_dir: Path, run_id: str, ending: str = "md") -> Path:
    """Where a run's report is saved unless a person names another file."""
    return data_dir / "reports" / f"{quote(run_id, safe='')}.{ending}"  # Temporal takes ids that name no file


def save_text(path: Path, text: str) -> Path:
    """`save_file` for a text, which ends with a line break in its file."""
    return save_file(path, (text if text.endswith("\n") else f"{text}\n").encode())


def save_file(path: Path, content: bytes) -> Path:
    """Write a file, whole or not at all; returns its absolute path. Raises Refused naming the file."""
    is_device = path.exists() and not path.is_file()
    path = path.absolute() if is_device else path.resolve()  # /dev/stdout resolves to no path when it is a pipe
    try:
        if is_device:
            _write_to_device(path, content)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_name(f".{path.name}.{os.getpid()}")
            beside.write_bytes(content)
            beside.replace(path)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}; name another file with --output") from error
    return path


def _write_to_device(path: Path, content: bytes) -> None:
    """Write to a device or a pipe, which is never replaced. A pipe that nobody reads from is an OSError, not a wait."""
    opened = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.set_blocking(opened, True)
    with os.fdopen(opened, "wb") as device:
        device.write(content)


def check_output(path: Path) -> None:
    """Raise InvalidInput for a file that a report cannot be saved in, before there is a report to lose."""
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if path.is_dir():
        raise InvalidInput("is a directory; name a file", f"--output {path}")
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InvalidInput(f"cannot be made in {parent}; name another file", f"--output {path}")


def with_path(status: RunStatus, path: Path | None) -> RunStatus:
    """The status with the place of its saved report; None leaves it as it is."""
    if status.report is None or path is None:
        return status
    return status.model_copy(update={"report": status.report.model_copy(update={"path": str(path)})})


def with_saved_path(status: RunStatus, data_dir: Path) -> RunStatus:
    """The status with the place of its report, where this machine has it."""
    path = report_path(data_dir, status.id).absolute()
    return with_path(status, path if path.is_file() else None)
