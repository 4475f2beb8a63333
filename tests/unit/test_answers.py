"""Each request of a run is answered once, and what was paid for is kept if that is possible at all."""

import asyncio
from pathlib import Path

import pytest

from deer.answers import AnsweredOnce, InsistentStore
from deer.errors import FailureKind, ServiceError
from deer.models import FoundSource, TextRef
from deer.ports import offload, resolve, store_text
from deer.providers.files import FileStore

ANSWER = FoundSource(url="https://a.example", title="A", summary="s")


class Outside:
    """Counts how often it is asked; fails the first `failures` times."""

    def __init__(self, failures: int = 0) -> None:
        self.asked = 0
        self._failures = failures

    async def ask(self) -> FoundSource:
        self.asked += 1
        await asyncio.sleep(0)
        if self.asked <= self._failures:
            raise ServiceError("down", FailureKind.UNAVAILABLE, retryable=True)
        return ANSWER


async def test_of_several_at_once_one_asks(tmp_path: Path) -> None:
    """Parallel steps that want the same get the one answer; only one of them paid for it."""
    outside, answers = Outside(), AnsweredOnce(FileStore(tmp_path))
    askers = [f"s{number}/1" for number in range(5)]
    got = await asyncio.gather(*[answers.get("answered/r1/x", FoundSource, asker, outside.ask) for asker in askers])
    assert outside.asked == 1
    assert [answer for answer, _ in got] == [ANSWER] * 5
    assert sorted(was_asked for _, was_asked in got) == [False] * 4 + [True]


async def test_another_process_finds_the_answer(tmp_path: Path) -> None:
    """What one worker was told is known to the next; another run's entry is its own."""
    outside = Outside()
    await AnsweredOnce(FileStore(tmp_path)).get("answered/r1/x", FoundSource, "s1/1", outside.ask)
    later = AnsweredOnce(FileStore(tmp_path))
    assert await later.get("answered/r1/x", FoundSource, "s2/1", outside.ask) == (ANSWER, False)
    assert await later.get("answered/r2/x", FoundSource, "s1/1", outside.ask) == (ANSWER, True)


async def test_a_call_that_is_made_again_has_paid_for_its_answer(tmp_path: Path) -> None:
    """A call whose worker was killed after the answer was kept finds it, and counts it as asked for by itself."""
    outside = Outside()
    await AnsweredOnce(FileStore(tmp_path)).get("answered/r1/x", FoundSource, "s1/1", outside.ask)
    again = await AnsweredOnce(FileStore(tmp_path)).get("answered/r1/x", FoundSource, "s1/1", outside.ask)
    assert (again, outside.asked) == ((ANSWER, True), 1)


async def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    """A request that failed is asked again."""
    outside, answers = Outside(failures=1), AnsweredOnce(FileStore(tmp_path))
    with pytest.raises(ServiceError):
        await answers.get("answered/r1/x", FoundSource, "s1/1", outside.ask)
    assert await answers.get("answered/r1/x", FoundSource, "s1/1", outside.ask) == (ANSWER, True)


async def test_long_texts_are_offloaded_and_resolved(tmp_path: Path) -> None:
    """A text above 8 KB, counted in bytes, travels as a reference, and comes back whole."""
    store = FileStore(tmp_path)
    assert await offload(store, "x" * 8_192) == "x" * 8_192
    long = await offload(store, "热" * 2_731)
    assert isinstance(long, TextRef)
    assert long.preview == "热" * 299 + "…"
    source = FoundSource(url="u", title="t", summary="s", text=await store_text(store, "short"))
    assert (await resolve(store, source)).text == "short"
    assert (await resolve(store, source.model_copy(update={"text": long}))).text == "热" * 2_731


def out_of_order(directory: Path) -> FileStore:
    """A store with a file in the place of its directory, so that nothing can be kept in it."""
    (directory / "store").touch()
    return FileStore(directory / "store")


async def test_what_cannot_be_kept_at_first_is_tried_again(tmp_path: Path) -> None:
    """A store that is mended while somebody insists has the text; one that is not raises what is wrong with it."""
    store = out_of_order(tmp_path)
    putting = asyncio.create_task(InsistentStore(store, [0.02] * 500).put("paid for"))
    await asyncio.sleep(0.05)
    assert not putting.done()
    (tmp_path / "store").unlink()
    assert await store.get(await putting) == "paid for"

    (tmp_path / "another").mkdir()
    with pytest.raises(ServiceError, match="cannot be written"):
        await InsistentStore(out_of_order(tmp_path / "another"), [0.01]).write_entry("runs/r1", "x")


async def test_nothing_is_asked_that_could_not_be_kept(tmp_path: Path) -> None:
    """With a store that cannot be written nobody outside is asked, so that nothing is paid for and lost."""
    outside = Outside()
    with pytest.raises(ServiceError, match="cannot be written"):
        await AnsweredOnce(out_of_order(tmp_path)).get("answered/r1/x", FoundSource, "s1/1", outside.ask)
    assert outside.asked == 0
