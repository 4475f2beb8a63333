"""The TextStore in a directory, which one machine or a shared mount gives to all processes of a deployment.

Every file appears whole under its name or not at all, so readers need no locks, and two writers of one name
leave what one of them wrote.

What is removed is put aside under another name first and looked at again: a text that somebody put anew in between is
younger then, and comes back. Readers find it under either name.
"""

import asyncio
import errno
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from deer.errors import FailureKind, NotFound, ServiceError
from deer.models import bytes_of, hash_of, text_of
from deer.ports import Kept
from deer.providers.stored_names import (
    ENTRIES,
    ENTRY_MARK,
    SHA256,
    TEXTS,
    entries_beside,
    entry_key,
    entry_of,
    text_key,
)

_WRITING, _PROBE, _ASIDE = ".writing-", ".probe-", ".aside-"
_LEFT_BEHIND_SECONDS = 600
"""Nobody needs as long for one file: an older temporary one was left by a process that was killed."""

_PASSING = frozenset({errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EAGAIN, errno.EBUSY, errno.EMFILE, errno.ENFILE})
"""Trouble of a disk or a mount that may be over when the call is made again."""


class FileStore:
    """Implements `deer.ports.PrunableStore` under the directory `root`, which is made when first written to."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def root(self) -> Path:
        """The directory."""
        return self._root

    async def require_writable(self) -> None:
        await asyncio.to_thread(self._make_and_remove_a_file)

    async def put(self, text: str) -> str:
        sha256 = hash_of(text)
        await asyncio.to_thread(self._keep, self._root / text_key(sha256), bytes_of(text))
        return sha256

    async def get(self, sha256: str) -> str:
        text = None
        if SHA256.fullmatch(sha256):
            text = await asyncio.to_thread(self._read, self._root / text_key(sha256))
        if text is None:
            raise NotFound(f"no text {sha256[:64]!r} in the store {self._root}")
        return text

    async def write_entry(self, name: str, text: str) -> None:
        await asyncio.to_thread(self._write, self._root / entry_key(name), bytes_of(text))

    async def read_entry(self, name: str) -> str | None:
        return await asyncio.to_thread(self._read, self._root / entry_key(name))

    async def entry_names(self, prefix: str) -> Sequence[str]:
        return [entry.name for entry in await self.entries(prefix)]

    async def texts(self) -> Sequence[Kept]:
        def listed() -> list[Kept]:
            self._clean_up()
            return list(self._kept(self._root / TEXTS, "*"))

        return [kept for kept in await asyncio.to_thread(listed) if SHA256.fullmatch(kept.name)]

    async def entries(self, prefix: str) -> Sequence[Kept]:
        start = self._root / entries_beside(prefix)
        found = await asyncio.to_thread(lambda: list(self._kept(start, "*" + ENTRY_MARK)))
        return sorted((entry for entry in found if entry.name.startswith(prefix)), key=lambda entry: entry.name)

    async def remove_text(self, sha256: str, unchanged_since: datetime) -> bool:
        return await asyncio.to_thread(self._remove, self._root / text_key(sha256), unchanged_since)

    async def remove_entry(self, name: str, unchanged_since: datetime) -> bool:
        return await asyncio.to_thread(self._remove, self._root / entry_key(name), unchanged_since)

    def _make_and_remove_a_file(self) -> None:
        probe = self._root / f"{_PROBE}{uuid.uuid4().hex}"
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            probe.write_bytes(b"-")  # not synced: it stands for a moment, and every paid call waits for it
            probe.unlink(missing_ok=True)
        except OSError as error:
            raise self._failure("written", error) from error

    # Keeping and reading

    def _keep(self, path: Path, data: bytes) -> None:
        """Write a text, or where it is kept already make it young: what is young is not cleaned away."""
        try:
            os.utime(path)
            is_kept = path.stat().st_size == len(data)
        except OSError:  # not there, or another user's: writing tells which
            is_kept = False
        if not is_kept:
            self._write(path, data)

    def _write(self, path: Path, data: bytes) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(path, data)
        except OSError as error:
            raise self._failure("written", error) from error

    def _read(self, path: Path) -> str | None:
        try:
            data = _content(path)
            for aside in path.parent.glob(f"{_ASIDE}*{path.name}") if data is None else ():
                data = _content(aside)
            if data is None:
                data = _content(path)  # it may have come back meanwhile
        except OSError as error:
            raise self._failure("read", error) from error
        return None if data is None else text_of(data)

    # Listing and removing

    def _kept(self, start: Path, pattern: str) -> Iterator[Kept]:
        for path in start.rglob(pattern):
            key = path.relative_to(self._root).as_posix()
            name = entry_of(key) if key.startswith(ENTRIES) else path.name
            with suppress(FileNotFoundError):  # removed by another process while this one lists
                about = path.stat()
                if name is not None and path.is_file() and not path.name.startswith("."):
                    changed_at = datetime.fromtimestamp(about.st_mtime, UTC)
                    yield Kept(name=name, size_bytes=about.st_size, changed_at=changed_at)

    def _remove(self, path: Path, unchanged_since: datetime) -> bool:
        aside = path.parent / f"{_ASIDE}{uuid.uuid4().hex}-{path.name}"
        try:
            path.rename(aside)
            if aside.stat().st_mtime > unchanged_since.timestamp():
                _bring_back(aside, path)
                return False
            aside.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._failure("written", error) from error
        return True

    def _clean_up(self) -> None:
        """Put right what processes left that were killed: bring back what was put aside, remove half files."""
        long_ago = time.time() - _LEFT_BEHIND_SECONDS
        for path in self._root.rglob(".*"):
            with suppress(FileNotFoundError):
                if path.stat().st_ctime > long_ago:
                    continue
                if path.name.startswith(_ASIDE):
                    _bring_back(path, path.with_name(path.name.removeprefix(_ASIDE).partition("-")[2]))
                elif path.name.startswith((_WRITING, _PROBE)):
                    path.unlink()

    def _failure(self, what: str, error: OSError) -> ServiceError:
        return ServiceError(
            f"the store {self._root} cannot be {what} ({error.strerror or error}); "
            "mend its rights or free space, or name another directory in DEER_STORE (DEER_DATA_DIR for the default)",
            FailureKind.STORE_UNWRITABLE,
            retryable=error.errno in _PASSING,
        )


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _bring_back(aside: Path, path: Path) -> None:
    """Give a file its name again, unless somebody has written one meanwhile, which holds at least as much."""
    try:
        path.hardlink_to(aside)
    except FileExistsError:
        pass
    except OSError:  # some mounts have no links
        if not path.exists():
            aside.rename(path)
            return
    aside.unlink()


def _write_whole(path: Path, data: bytes) -> None:
    """Write beside the target and rename, so that a reader or a crash never meets half a file."""
    temporary = path.parent / f"{_WRITING}{uuid.uuid4().hex}"
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Make a rename last through a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
