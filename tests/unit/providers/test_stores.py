"""What every TextStore does, in files and in buckets alike."""

import asyncio
import hashlib
import itertools
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from deer.config import load_settings
from deer.errors import FailureKind, InvalidInput, NotFound, ServiceError
from deer.ports import PrunableStore
from deer.providers.bucket import BucketStore
from tests.running import BucketServer
from worker import open_store

HOUR = timedelta(hours=1)


def in_files(directory: Path, _: BucketServer) -> PrunableStore:
    return open_store(load_settings({"DEER_STORE": "new/store"}, directory))


def in_a_bucket(directory: Path, buckets: BucketServer) -> PrunableStore:
    return open_store(load_settings({**buckets.environment(), "DEER_STORE": buckets.new_store()}, directory))


def in_memory(_: Path, __: BucketServer) -> PrunableStore:
    """A bucket that keeps its promises to many at once, which the server of the tests does not.

    rclone confirms a deletion that it does not make when the directory around it comes and goes meanwhile.
    """
    return BucketStore("s3://memory", MemoryStore())


@pytest.fixture(params=[in_files, in_a_bucket])
def store(request: pytest.FixtureRequest, tmp_path: Path, buckets: BucketServer) -> PrunableStore:
    """An empty store of each kind, opened as the programs open it."""
    make: Callable[[Path, BucketServer], PrunableStore] = request.param
    return make(tmp_path, buckets)


async def test_a_text_is_kept_under_its_hash(store: PrunableStore) -> None:
    """A text comes back from the SHA-256 of its UTF-8 bytes, and putting it again leaves one."""
    await store.require_writable()
    sha256 = await store.put("Wärme 热泵")
    assert sha256 == hashlib.sha256("Wärme 热泵".encode()).hexdigest()
    assert await store.put("Wärme 热泵") == sha256
    assert await store.get(sha256) == "Wärme 热泵"
    assert [(text.name, text.size_bytes) for text in await store.texts()] == [(sha256, 13)]


async def test_any_text_comes_back_unchanged(store: PrunableStore) -> None:
    """NUL, lone surrogates, line ends and long texts survive."""
    for text in ("", "a\0b\x07", "half a pair: \ud83d!", "line\r\nend\r", "x" * 3_000_000):
        assert await store.get(await store.put(text)) == text
        await store.write_entry("runs/r1", text)
        assert await store.read_entry("runs/r1") == text


@pytest.mark.parametrize("sha256", ["0" * 64, "../../etc/passwd", "", "A" * 64])
async def test_an_unknown_hash_is_not_found(store: PrunableStore, sha256: str) -> None:
    """What is no hash of a kept text raises NotFound."""
    with pytest.raises(NotFound, match="no text"):
        await store.get(sha256)


async def test_entries_are_set_replaced_and_listed(store: PrunableStore) -> None:
    """An entry may share its name with the directory of others, and names are listed by prefix, sorted."""
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
async def test_names_that_lead_elsewhere_are_refused(store: PrunableStore, name: str) -> None:
    """A name with an empty, dotted or endless part is refused, and nothing is written."""
    with pytest.raises(InvalidInput, match="cannot name an entry"):
        await store.write_entry(name, "x")
    with pytest.raises(InvalidInput, match="cannot name an entry"):
        await store.read_entry(name)
    assert await store.entry_names("") == []


async def test_odd_letters_in_names_survive(store: PrunableStore) -> None:
    """Names with spaces, slashes of other systems, marks and other alphabets are kept apart and listed."""
    names = sorted(
        ["collections/a b", "collections/a\\b", "collections/a@entry", "collections/热泵", "collections/%41"]
    )
    for name in names:
        await store.write_entry(name, name)
    assert await store.entry_names("collections/") == names
    assert [await store.read_entry(name) for name in names] == names


async def test_what_is_old_can_be_removed_and_nothing_else(store: PrunableStore) -> None:
    """Texts and entries go when nobody put them since the moment given; putting a text again makes it young."""
    sha256 = await store.put("a text")
    await store.write_entry("runs/r1", "a record")
    [text], [entry] = await store.texts(), await store.entries("runs/")
    assert abs(text.changed_at - datetime.now(UTC)) < HOUR
    assert (entry.name, entry.size_bytes) == ("runs/r1", 8)
    for long_ago in (text.changed_at - HOUR, entry.changed_at - HOUR):
        assert not await store.remove_text(sha256, long_ago)
        assert not await store.remove_entry("runs/r1", long_ago)
    assert (await store.get(sha256), await store.read_entry("runs/r1")) == ("a text", "a record")

    await asyncio.sleep(1.1)  # what S3 says of times may be in whole seconds
    await store.put("a text")
    assert not await store.remove_text(sha256, text.changed_at)

    later = datetime.now(UTC) + HOUR
    assert await store.remove_text(sha256, later)
    assert await store.remove_entry("runs/r1", later)
    assert not await store.remove_text(sha256, later)
    assert not await store.remove_entry("runs/r1", later)
    assert (list(await store.texts()), list(await store.entries(""))) == ([], [])
    assert await store.put("a text") == sha256
    assert await store.get(sha256) == "a text"


@pytest.mark.parametrize("make", [in_files, in_memory])
async def test_a_text_that_is_put_while_it_is_removed_is_there(
    make: Callable[[Path, BucketServer], PrunableStore], tmp_path: Path, buckets: BucketServer
) -> None:
    """Whoever puts a text has it, whoever removes it as too old at the same moment."""
    store = make(tmp_path, buckets)
    old = [await store.put(f"text {number}") for number in range(12)]
    old_at = datetime.now(UTC)
    await asyncio.sleep(0.01)
    lost: list[str] = []

    async def put() -> None:
        for number in range(12):
            sha256 = await store.put(f"text {number}")
            try:
                await store.get(sha256)
            except NotFound:
                lost.append(sha256)

    async def remove() -> int:
        return sum([await store.remove_text(sha256, old_at) for sha256 in old])

    _, _, *removed = await asyncio.gather(put(), put(), remove(), remove())
    assert lost == []
    assert sum(removed) > 0, "nothing was removed while it was put"
    assert {text.name for text in await store.texts()} == set(old)


async def test_a_mark_that_a_dead_process_left_holds_nobody_up_for_ever() -> None:
    """Whoever puts a text waits for the one who marked it for removal, but not for one who never comes back."""
    bucket, seconds = MemoryStore(), itertools.count(step=50)
    store = BucketStore("s3://memory", bucket, clock=lambda: float(next(seconds)))
    sha256 = await store.put("a text")
    await bucket.put_async(f"texts/{sha256[:2]}/{sha256}/condemned-{'0' * 32}", b"")
    looked_before = next(seconds)
    assert await store.put("a text") == sha256
    assert next(seconds) - looked_before > 2 * 60


async def refusal(settings: dict[str, str], directory: Path) -> ServiceError:
    """What a store with these settings says when something is to be kept in it."""
    with pytest.raises(ServiceError) as caught:
        await open_store(load_settings(settings, directory)).put("x")
    assert caught.value.kind is FailureKind.STORE_UNWRITABLE
    return caught.value


async def test_a_bucket_that_cannot_be_used_says_why_and_what_to_do(tmp_path: Path, buckets: BucketServer) -> None:
    """A missing bucket, a wrong key and an unreachable server are told apart, each with its remedy and no secret."""
    right = {**buckets.environment(), "DEER_STORE": buckets.new_store()}
    no_bucket = await refusal({**right, "DEER_STORE": "s3://no-such-bucket"}, tmp_path)
    wrong_key = await refusal({**right, "AWS_SECRET_ACCESS_KEY": "canary-of-a-wrong-key"}, tmp_path)
    no_server = await refusal({**right, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, tmp_path)
    assert "s3://no-such-bucket cannot be written (NoSuchBucket); correct the bucket in DEER_STORE" in str(no_bucket)
    assert "(SignatureDoesNotMatch); mend AWS_ACCESS_KEY_ID" in str(wrong_key)
    assert "AWS_ENDPOINT_URL" in str(no_server)
    assert [error.retryable for error in (no_bucket, wrong_key, no_server)] == [False, False, True]
    assert "canary" not in json.dumps([str(no_bucket), repr(wrong_key), str(no_server)])
    with pytest.raises(ServiceError, match="cannot be read"):
        await open_store(load_settings({**right, "DEER_STORE": "s3://no-such-bucket"}, tmp_path)).read_entry("runs/r")
