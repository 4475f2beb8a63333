"""The TextStore in a directory, which one machine or a shared mount gives to all processes of a deployment.

    texts/ab/<sha256>        a text under the SHA-256 of its bytes
    entries/runs/r1@entry    the entry `runs/r1`; the mark keeps it apart from the directory of `runs/r1/...`

Every file appears whole under its name or not at all, so readers need no locks, and two writers of one name
leave what one of them wrote.
"""

import asyncio
import hashlib
import os
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from deer.errors import FailureKind, InvalidInput, NotFound, ServiceError

_ENTRY_MARK = "@entry"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAX_PART_BYTES = 200
"""File systems allow 255 bytes in a name; the mark and a temporary name need room."""


class FileStore:
    """Implements `deer.ports.TextStore` under the directory `root`, which is made when first written to."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def root(self) -> Path:
        """The directory."""
        return self._root

    async def require_writable(self) -> None:
        """Raise ServiceError (StoreUnwritable) unless files can be made under the root."""
        await asyncio.to_thread(self._make_and_remove_a_file)

    async def put(self, text: str) -> str:
        data = _bytes_of(text)
        sha256 = hashlib.sha256(data).hexdigest()
        await asyncio.to_thread(self._keep, self._text_path(sha256), data)
        return sha256

    async def get(self, sha256: str) -> str:
        text = None
        if _SHA256.fullmatch(sha256):
            text = await asyncio.to_thread(self._read, self._text_path(sha256))
        if text is None:
            raise NotFound(f"no text {sha256[:64]!r} in the store {self._root}")
        return text

    async def write_entry(self, name: str, text: str) -> None:
        await asyncio.to_thread(self._write, self._entry_path(name), _bytes_of(text))

    async def read_entry(self, name: str) -> str | None:
        return await asyncio.to_thread(self._read, self._entry_path(name))

    async def entry_names(self, prefix: str) -> Sequence[str]:
        return await asyncio.to_thread(lambda: sorted(self._names_with(prefix)))

    def _make_and_remove_a_file(self) -> None:
        probe = self._root / f".probe-{uuid.uuid4().hex}"
        self._write(probe, b"")
        probe.unlink(missing_ok=True)

    def _text_path(self, sha256: str) -> Path:
        return self._root / "texts" / sha256[:2] / sha256

    def _entry_path(self, name: str) -> Path:
        *directories, last = (_file_name(part, name) for part in name.split("/"))
        return self._root.joinpath("entries", *directories, last + _ENTRY_MARK)

    def _names_with(self, prefix: str) -> Iterator[str]:
        entries = self._root / "entries"
        *directories, _ = prefix.split("/")
        start = entries.joinpath(*(_file_name(part, prefix) for part in directories))
        for path in start.rglob("*" + _ENTRY_MARK):
            name = unquote(path.relative_to(entries).as_posix().removesuffix(_ENTRY_MARK), errors="surrogatepass")
            if name.startswith(prefix):
                yield name

    def _keep(self, path: Path, data: bytes) -> None:
        try:
            is_kept = path.stat().st_size == len(data)
        except OSError:  # not there, or not to be looked at: writing tells which
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
            return path.read_bytes().decode("utf-8", "surrogatepass")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._failure("read", error) from error

    def _failure(self, what: str, error: OSError) -> ServiceError:
        return ServiceError(
            f"the store {self._root} cannot be {what} ({error.strerror or error}); "
            "mend its rights or free space, or name another directory in DEER_STORE (DEER_DATA_DIR for the default)",
            FailureKind.STORE_UNWRITABLE,
        )


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # models write lone surrogates; what was put is what is got


def _file_name(part: str, name: str) -> str:
    """One part of a name as a file name that cannot mean another place; InvalidInput when there is none."""
    encoded = quote(part, safe=" ", errors="surrogatepass")
    if part in ("", ".", "..") or len(encoded) > _MAX_PART_BYTES:
        raise InvalidInput(
            f"{name[:100]!r} cannot name an entry: parts between slashes have 1 to 200 letters, no dots alone"
        )
    return encoded


def _write_whole(path: Path, data: bytes) -> None:
    """Write beside the target and rename, so that a reader or a crash never meets half a file."""
    temporary = path.parent / f".writing-{uuid.uuid4().hex}"
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
