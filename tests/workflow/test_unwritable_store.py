"""A store that cannot be written: nothing is paid for that could not be kept, and nothing is paid for twice."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from deer.errors import FailureKind, ServiceError
from deer.models import Check, Phase, StepStatus
from deer.ports import PageReader
from deer.providers.files import FileStore
from tests.eventually import eventually
from tests.running import Run, Runs, research_worker
from tests.scripted import Json, ScriptedServices, plan_of, research_step
from tests.workflow.test_controls import caught, control


@pytest.fixture
async def runs(
    server: WorkflowEnvironment, scripted: ScriptedServices, pages: PageReader, tmp_path: Path
) -> AsyncIterator[Runs]:
    """Runs with a store of their own, below the directory of the test."""
    async with research_worker(server.client, scripted, pages, tmp_path) as started, started.of_one_test() as mine:
        yield mine


class UnreadableStore(FileStore):
    """A store that can be written all the time, and read while it is not broken."""

    is_broken = False

    async def get(self, sha256: str) -> str:
        """As a store, or ServiceError as of one that cannot be reached."""
        if self.is_broken:
            raise ServiceError("the store cannot be read", FailureKind.STORE_UNWRITABLE)
        return await super().get(sha256)


@pytest.fixture
def unreadable(tmp_path: Path) -> UnreadableStore:
    """The store of `unreadable_runs`."""
    return UnreadableStore(tmp_path / "store")


@pytest.fixture
async def unreadable_runs(
    server: WorkflowEnvironment,
    scripted: ScriptedServices,
    pages: PageReader,
    tmp_path: Path,
    unreadable: UnreadableStore,
) -> AsyncIterator[Runs]:
    """Runs with a store that a test can break for readers."""
    made = research_worker(server.client, scripted, pages, tmp_path, store=unreadable)
    async with made as started, started.of_one_test() as mine:
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


async def test_a_large_run_can_be_held_without_its_store(
    runs: Runs, scripted: ScriptedServices, tmp_path: Path
) -> None:
    """A run that knows more than a message may carry is held and answers; mended, it goes on."""

    def results(query: str) -> list[Json]:
        address = f"{scripted.url}/page/{'long' * 200}-{query[-12:].replace(' ', '-')}"
        return [{"title": "P", "url": f"{address}-{place}", "content": f"{query} {place} " * 20} for place in range(20)]

    store = tmp_path / "store"
    scripted.setup.results = results
    scripted.scripts["planner"] = plan_of(*[research_step(f"subject-{name}1") for name in "abcde"])
    gate = scripted.hold("judge")
    run = await runs.start("What is the value?", auto_accept=True, max_search_results=20, max_rounds=2)
    await caught(gate)
    assert sum(len(source.url) for source in (await run.status()).sources) > 90_000
    take_away(store)
    gate.open()
    await mended(run, store)
    assert (await run.end()).phase is Phase.COMPLETED
    assert scripted.log.count("judge") == 1


async def test_a_submitted_finding_survives_a_finish(
    unreadable_runs: Runs, scripted: ScriptedServices, unreadable: UnreadableStore
) -> None:
    """Finish gives up the held check of a finding's quotes, not the finding; its claims count as unverified."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    gate = scripted.hold("researcher", nth=3)
    run = await unreadable_runs.start("What is the value?", auto_accept=True)
    await caught(gate)
    unreadable.is_broken = True
    gate.open()
    await run.reach(Phase.NEEDS_ATTENTION)
    unreadable.is_broken = False
    await control(run, "finish")
    status = await run.end()
    assert status.plan
    assert status.plan.steps[0].status is StepStatus.DONE
    assert "was looked up" in (status.plan.steps[0].finding or "")
    assert status.report
    assert {claim.check for claim in status.report.claims} == {Check.UNVERIFIED}
    assert any("could not be checked: the store cannot be read" in notice for notice in status.notices)


async def test_a_written_report_is_not_given_up(
    unreadable_runs: Runs, scripted: ScriptedServices, unreadable: UnreadableStore
) -> None:
    """While the check of its citations is held, finish is refused with the remedy; a retry completes the run."""
    scripted.scripts["reporter"] = "# Report\n\n" + "A sentence of the report [s1-1]. " * 400
    gate = scripted.hold("reporter")
    run = await unreadable_runs.start("What is the value?", auto_accept=True)
    await caught(gate)
    unreadable.is_broken = True
    gate.open()
    await run.reach(Phase.NEEDS_ATTENTION)
    assert "mend what is held and retry" in await run.refusal("control", {"action": "finish"})
    unreadable.is_broken = False
    await control(run, "retry")
    status = await run.end()
    assert (status.phase, scripted.log.count("reporter")) == (Phase.COMPLETED, 1)
    assert status.report
