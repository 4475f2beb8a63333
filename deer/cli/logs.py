"""Where a process writes what nobody asked for: warnings of Temporal's SDK and of the activities."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

_LINE = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"
_BYTES_KEPT = 5_000_000


@contextmanager
def logged_to(path: Path) -> Iterator[None]:
    """Append the log of this process to a file while the block lasts, so that a terminal shows results alone."""
    yield from _handled_by(RotatingFileHandler(path, maxBytes=_BYTES_KEPT, backupCount=1, encoding="utf-8", delay=True))


@contextmanager
def not_logged() -> Iterator[None]:
    """Drop the log while the block lasts: what matters to a person comes as an error."""
    yield from _handled_by(logging.NullHandler())


def log_to_stderr() -> None:
    """Write the log of this process to standard error, as services do."""
    logging.basicConfig(stream=sys.stderr, format=_LINE)


def _handled_by(handler: logging.Handler) -> Iterator[None]:
    handler.setFormatter(logging.Formatter(_LINE))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()
