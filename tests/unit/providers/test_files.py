"""The TextStore in files."""

import asyncio
import sys
from pathlib import Path

import pytest

from deer.errors import FailureKind, ServiceError
from deer.providers.files import FileStore


def file_names(directory: Path) -> list[str]:
    return [path.name for path in directory.rglob("*") if path.is_file()]


def cut_short(directory: Path, name: str) -> None:
    path = next(directory.rglob(name))
    path.write_bytes(path.read_bytes()[:6])


async def test_half_a_text_left_by_a_crash_is_written_again(tmp_path: Path) -> None:
    """A file of another length under a text's hash is replaced by the whole text."""
    store = FileStore(tmp_path)
    sha256 = await store.put("the whole text")
    cut_short(tmp_path, sha256)
    await store.put("the whole text")
    assert await store.get(sha256) == "the whole text"


async def test_an_unwritable_store_says_where_and_what_to_do(tmp_path: Path) -> None:
    """Where no file can be made, the error names the path and the setting, and a person must mend it."""
    (tmp_path / "file").write_text("not a directory")
    store = FileStore(tmp_path / "file" / "store")
    for write in (store.put("x"), store.write_entry("runs/r1", "x")):
        with pytest.raises(ServiceError, match=r"file/store cannot be written .*DEER_STORE") as caught:
            await write
        assert caught.value.kind is FailureKind.STORE_UNWRITABLE
        assert not caught.value.retryable


WRITER = """
import asyncio, sys
from pathlib import Path
from deer.providers.files import FileStore

async def main():
    store = FileStore(Path(sys.argv[1]))
    for turn in range(30):
        await store.write_entry("runs/r1", sys.argv[2] * 20_000)
        await store.put("the same text " * 1000)

asyncio.run(main())
"""


async def test_processes_that_write_the_same_names_leave_whole_files(tmp_path: Path) -> None:
    """While several processes set one entry and put one text, every reading is whole, and no temporary file stays."""
    writers = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, str(tmp_path), letter) for letter in "abc"
    ]
    store = FileStore(tmp_path)
    seen = set()
    while any(writer.returncode is None for writer in writers):
        seen.add(await store.read_entry("runs/r1"))
    assert [await writer.wait() for writer in writers] == [0, 0, 0]
    assert seen <= {None, *(letter * 20_000 for letter in "abc")}
    assert len(seen) > 1
    assert sorted(file_names(tmp_path)) == sorted(["r1@entry", await store.put("the same text " * 1000)])
