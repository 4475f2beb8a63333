"""The TextStore in files."""

import asyncio
import hashlib
import sys
from pathlib import Path

import pytest

from deer.errors import FailureKind, InvalidInput, NotFound, ServiceError
from deer.providers.files import FileStore


def file_names(directory: Path) -> list[str]:
    return [path.name for path in directory.rglob("*") if path.is_file()]


def cut_short(directory: Path, name: str) -> None:
    path = next(directory.rglob(name))
    path.write_bytes(path.read_bytes()[:6])


async def test_a_text_is_kept_under_its_hash(tmp_path: Path) -> None:
    """A text comes back from the SHA-256 of its UTF-8 bytes, and putting it again leaves one file."""
    store = FileStore(tmp_path / "new" / "store")
    sha256 = await store.put("Wärme 热泵")
    assert sha256 == hashlib.sha256("Wärme 热泵".encode()).hexdigest()
    assert await store.put("Wärme 热泵") == sha256
    assert await store.get(sha256) == "Wärme 热泵"
    assert file_names(tmp_path) == [sha256]


@pytest.mark.parametrize("text", ["", "a\0b\x07", "half a pair: \ud83d!", "line\r\nend\r", "x" * 3_000_000])
async def test_any_text_comes_back_unchanged(tmp_path: Path, text: str) -> None:
    """NUL, lone surrogates, line ends and long texts survive the file system."""
    store = FileStore(tmp_path)
    assert await store.get(await store.put(text)) == text
    await store.write_entry("runs/r1", text)
    assert await store.read_entry("runs/r1") == text


@pytest.mark.parametrize("sha256", ["0" * 64, "../../etc/passwd", "", "A" * 64])
async def test_an_unknown_hash_is_not_found(tmp_path: Path, sha256: str) -> None:
    """What is no hash of a kept text raises NotFound and opens no other file."""
    with pytest.raises(NotFound, match="no text"):
        await FileStore(tmp_path).get(sha256)


async def test_half_a_text_left_by_a_crash_is_written_again(tmp_path: Path) -> None:
    """A file of another length under a text's hash is replaced by the whole text."""
    store = FileStore(tmp_path)
    sha256 = await store.put("the whole text")
    cut_short(tmp_path, sha256)
    await store.put("the whole text")
    assert await store.get(sha256) == "the whole text"


async def test_entries_are_set_replaced_and_listed(tmp_path: Path) -> None:
    """An entry may share its name with the directory of others, and names are listed by prefix, sorted."""
    store = FileStore(tmp_path)
    names = ["runs/r1", "runs/r1/cache/search/ab", "runs/r1.entry", "runs/r2", "collections/x"]
    for name in names:
        await store.write_entry(name, f"first {name}")
        await store.write_entry(name, f"text of {name}")
    assert [await store.read_entry(name) for name in names] == [f"text of {name}" for name in names]
    assert await store.entry_names("runs/") == ["runs/r1", "runs/r1.entry", "runs/r1/cache/search/ab", "runs/r2"]
    assert await store.entry_names("runs/r1/") == ["runs/r1/cache/search/ab"]
    assert await store.entry_names("coll") == ["collections/x"]
    assert await store.entry_names("nothing/here") == []
    assert await store.read_entry("runs/r3") is None
    assert await store.read_entry("runs/r1/cache") is None


@pytest.mark.parametrize("name", ["../x", "runs/../../x", "/etc/passwd", "runs//x", "", ".", "runs/" + "x" * 300])
async def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    """A name with an empty, dotted or endless part is refused, and nothing is written."""
    store = FileStore(tmp_path / "store")
    with pytest.raises(InvalidInput, match="cannot name an entry"):
        await store.write_entry(name, "x")
    with pytest.raises(InvalidInput, match="cannot name an entry"):
        await store.read_entry(name)
    assert file_names(tmp_path) == []


async def test_odd_letters_in_names_survive(tmp_path: Path) -> None:
    """Names with spaces, slashes of other systems, marks and other alphabets are kept apart and listed."""
    store = FileStore(tmp_path)
    names = sorted(
        ["collections/a b", "collections/a\\b", "collections/a@entry", "collections/热泵", "collections/%41"]
    )
    for name in names:
        await store.write_entry(name, name)
    assert await store.entry_names("collections/") == names
    assert [await store.read_entry(name) for name in names] == names


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
