"""Cleaning the store: what ended long ago goes, and nothing that anybody still needs."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from deer.cli.pruning import living_runs
from deer.models import FoundSource, Phase
from deer.ports import PageReader, PrunableStore, store_text
from deer.pruning import LivingRuns, Pruned, hashes_in, prune
from tests.running import BucketServer, Runs, research_worker
from tests.scripted import Json, ScriptedServices
from tests.unit.providers.test_stores import in_a_bucket, in_files

PAST_ALL = timedelta(hours=2)
"""Ages are told from a later moment, since nothing can be made older in a bucket."""


@pytest.fixture(params=[in_files, in_a_bucket])
def store(request: pytest.FixtureRequest, tmp_path: Path, buckets: BucketServer) -> PrunableStore:
    """An empty store of each kind."""
    made: PrunableStore = request.param(tmp_path, buckets)
    return made


@pytest.fixture
async def runs(
    server: WorkflowEnvironment, scripted: ScriptedServices, pages: PageReader, tmp_path: Path, store: PrunableStore
) -> AsyncIterator[Runs]:
    """Runs with a store of their own, whose values are often large enough to be kept in it."""

    def results(query: str) -> list[Json]:
        noise = [f"{scripted.url}/page/{'long' * 470}-{place}-{len(query)}" for place in range(17)]
        more = [{"title": "结果" * 150, "url": address, "content": "测量值。" * 200} for address in noise]
        return [*scripted._pages_about(query), *more]

    scripted.setup.results = results
    worker = research_worker(server.client, scripted, pages, tmp_path, store=store)
    async with worker as started, started.of_one_test() as mine:
        yield mine


async def nobody() -> LivingRuns:
    return LivingRuns(frozenset(), frozenset())


def later() -> datetime:
    return datetime.now(UTC) + PAST_ALL


async def test_an_open_run_goes_on_after_its_store_was_cleaned(runs: Runs, store: PrunableStore) -> None:
    """Of an ended run and an open one all that the ended one alone had goes; the open one then completes."""
    ended = await runs.start("What is the value?", auto_accept=True)
    assert (await ended.end()).phase is Phase.COMPLETED
    waiting = await runs.start("What is the other value?", max_search_results=20)
    await waiting.reach(Phase.AWAITING_REVIEW)
    orphan = await store.put("nobody's text")
    before = {text.name for text in await store.texts()}

    async def living() -> LivingRuns:
        return await living_runs(waiting.client, store, later())

    would = await prune(store, later(), living, removes=False)
    assert {text.name for text in await store.texts()} == before
    done = await prune(store, later(), living, removes=True)
    assert done == would
    assert (done.records, done.texts > 1, done.answers > 1) == (1, True, True)
    assert done.size_bytes > 1_000
    assert await ended.record() is None
    assert await store.read_entry(f"states/{ended.id}") is None
    assert await store.read_entry(f"states/{waiting.id}") is not None
    assert await waiting.record() is not None
    kept = {text.name for text in await store.texts()}
    assert orphan not in kept
    assert kept

    await waiting.signal("approve")
    status = await waiting.end()
    assert status.phase is Phase.COMPLETED, status.notices
    assert "unverified" not in {claim.check.value for claim in (status.report.claims if status.report else ())}


async def test_a_run_loses_nothing_to_pruning_beside_it(runs: Runs, store: PrunableStore) -> None:
    """While one prunes again and again everything from before the run, the run completes with its claims verified."""
    before = [await store.put(f"old {number}") for number in range(20)]
    kept_at = datetime.now(UTC)
    await asyncio.sleep(1.1)  # what S3 says of times may be in whole seconds
    run = await runs.start("What is the value?", auto_accept=True)
    ended = asyncio.ensure_future(run.end())
    removed = 0
    while not ended.done():
        removed += (await prune(store, kept_at, nobody, removes=True)).texts
    status = await ended
    assert status.phase is Phase.COMPLETED, status.notices
    assert removed == len(before)
    assert (await run.record()) is not None


async def test_what_younger_entries_name_stays(store: PrunableStore) -> None:
    """Texts of collections, of answers of a run whose record stays, and records of no end are left alone."""
    named = {kind: await store_text(store, f"text of {kind}") for kind in ("collection", "answer", "lost")}
    source = FoundSource(url="u", title="t", summary="s", text=named["answer"])
    await store.write_entry("collections/mine", f'{{"sha256": "{named["collection"].sha256}"}}')
    await store.write_entry("answered/open/run/pages/" + "a" * 64, source.model_dump_json())
    await store.write_entry("answered/gone/pages/" + "b" * 64, named["lost"].model_dump_json())
    await store.write_entry("runs/open/run", '{"phase": "awaiting_review"}')
    done = await prune(store, later(), nobody, removes=True)
    assert (done.records, done.answers, done.texts) == (0, 1, 1)
    assert {text.name for text in await store.texts()} == {named["collection"].sha256, named["answer"].sha256}
    assert len(await store.entry_names("")) == 3
    nothing = await prune(store, datetime.now(UTC) - PAST_ALL, nobody, removes=True)
    assert nothing == Pruned()


def test_hashes_are_found_whole() -> None:
    """A hash is 64 hexadecimal digits, neither more nor fewer, wherever it stands."""
    sha256 = "0123456789abcdef" * 4
    assert hashes_in(f'{{"a": "{sha256}", "b": "{sha256}0", "c": "{sha256[1:]}"}} x{sha256}') == {sha256}
