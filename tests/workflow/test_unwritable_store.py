"""A store that cannot be written: nothing is paid for that could not be kept, and nothing is paid for twice."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from deer.models import Phase
from deer.ports import PageReader
from tests.eventually import eventually
from tests.running import Run, Runs, research_worker
from tests.scripted import ScriptedServices


@pytest.fixture
async def runs(
    server: WorkflowEnvironment, scripted: ScriptedServices, pages: PageReader, tmp_path: Path
) -> AsyncIterator[Runs]:
    """Runs with a store of their own, below the directory of the test."""
    async with research_worker(server.client, scripted, pages, tmp_path) as started, started.of_one_test() as mine:
        yield mine


def take_away(store: Path) -> None:
    """Put a file where the store was, as a volume that is gone leaves an empty place."""
    store.rename(store.with_name("elsewhere"))
    store.touch()


def bring_back(store: Path) -> None:
    """Mend it."""
    store.unlink()
    store.with_name("elsewhere").rename(store)


async def mended(run: Run, store: Path) -> None:
    """Wait until the run is held, mend the store, and let the run go on."""
    held = await run.reach(Phase.NEEDS_ATTENTION)
    assert "cannot be written" in (held.reason or "")
    bring_back(store)
    await run.handle.execute_update("control", {"action": "retry"})


async def test_no_model_is_asked_whose_answer_could_not_be_kept(
    runs: Runs, scripted: ScriptedServices, tmp_path: Path
) -> None:
    """The store is found out before the first turn of a step is paid for; mended, the run asks once and completes."""
    store = tmp_path / "store"
    run = await runs.start("What is the value?")
    await run.reach(Phase.AWAITING_REVIEW)
    take_away(store)
    await run.signal("approve")
    await run.reach(Phase.NEEDS_ATTENTION)
    assert scripted.log.count("researcher") == 0
    await mended(run, store)
    assert (await run.end()).phase is Phase.COMPLETED


async def test_an_answer_that_could_not_be_kept_is_not_paid_for_again(
    runs: Runs, scripted: ScriptedServices, tmp_path: Path
) -> None:
    """The store goes away during a model call: once it is mended the answer that was given is kept."""
    store = tmp_path / "store"
    gate = scripted.hold("analyst")
    run = await runs.start("What is the value?", auto_accept=True)
    await eventually(lambda: gate.caught, "the analyst's call")
    take_away(store)
    gate.open()
    await mended(run, store)
    assert (await run.end()).phase is Phase.COMPLETED
    assert scripted.log.count("analyst") == 1
