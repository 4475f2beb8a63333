"""How runs end or stop: cancelled, failed, or waiting for somebody who can mend a service."""

import asyncio
import json
from pathlib import Path

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from deer.models import Phase, StepStatus
from deer.ports import RECORDS, PageReader
from deer.providers.files import FileStore
from tests.eventually import eventually
from tests.running import Runs, research_worker
from tests.scripted import REFUSED_KEY, Failure, ScriptedServices, leaked_canaries
from tests.scripted.canaries import MODEL_KEY

HELD_CALL = {
    Phase.COORDINATING: "coordinator",
    Phase.LOOKING_AROUND: "search",
    Phase.PLANNING: "planner",
    Phase.RESEARCHING: "researcher",
    Phase.REPORTING: "reporter",
}


@pytest.mark.parametrize("phase", [*HELD_CALL, Phase.AWAITING_REVIEW])
async def test_a_cancelled_run_ends_cancelled_with_a_readable_record(
    runs: Runs, scripted: ScriptedServices, phase: Phase
) -> None:
    """Cancelling works in every phase within ten seconds, pays for nothing more, and keeps what was known."""
    if phase in HELD_CALL:
        gate = scripted.hold(HELD_CALL[phase])
        run = await runs.start("What is the value?", auto_accept=True)
        await eventually(lambda: bool(gate.caught), f"a call in {phase}")
    else:
        run = await runs.start("What is the value?")
    before = await run.reach(phase)
    calls = len(scripted.log)
    await run.handle.cancel()
    assert await run.closed(within_s=10) == WorkflowExecutionStatus.CANCELED
    status = await run.status()
    assert status.phase is Phase.CANCELLED
    assert status.reason
    record = await run.record()
    assert record == status
    assert (record.plan is None) == (before.plan is None)
    assert len(scripted.log) == calls


class SlowRecords(FileStore):
    """A store that keeps the record of a run at work only when a test lets it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.is_let = asyncio.Event()

    async def write_entry(self, name: str, text: str) -> None:
        """As a store, once it is let."""
        if name.startswith(RECORDS) and f'"phase":"{Phase.RESEARCHING}"' in text:
            await self.is_let.wait()
        await super().write_entry(name, text)


async def test_a_run_at_work_is_recorded_and_does_not_wait_for_it(
    server: WorkflowEnvironment, scripted: ScriptedServices, pages: PageReader, tmp_path: Path
) -> None:
    """The record of a run that nobody reviews has its plan from the first step on; its calls go on meanwhile."""
    store = SlowRecords(tmp_path / "store")
    made = research_worker(server.client, scripted, pages, tmp_path, store=store)
    async with made as started, started.of_one_test() as mine:
        gate = scripted.hold("reporter")
        run = await mine.start("What is the value?", auto_accept=True)
        await eventually(lambda: gate.caught, "the reporter's call")
        assert await run.record() is None
        store.is_let.set()
        record = await run.recorded(Phase.RESEARCHING)
        assert record.plan
        assert [step.status for step in record.plan.steps] == [StepStatus.RUNNING, StepStatus.PENDING]
        gate.open()
        status = await run.end()
        assert status.phase is Phase.COMPLETED
        assert await run.record() == status


async def test_a_failed_run_tells_its_reason_to_temporal_too(runs: Runs, scripted: ScriptedServices) -> None:
    """`failed` is Temporal's FAILED, with the same words and no stack trace."""
    scripted.fail("coordinator", Failure(400, {"error": {"message": "scripted refusal", "code": "bad"}}), times=9)
    run = await runs.start("What is the value?")
    with pytest.raises(WorkflowFailureError) as failed:
        await run.handle.result()
    status = await run.status()
    assert status.phase is Phase.FAILED
    assert "scripted refusal" in (status.reason or "")
    assert "scripted refusal" in str(failed.value.cause)
    assert "Traceback" not in (status.reason or "")
    assert await run.record() == status


@pytest.mark.parametrize("role", ["coordinator", "planner", "researcher", "reporter"])
async def test_a_refused_key_waits_for_a_person_and_goes_on_after_retry(
    runs: Runs, scripted: ScriptedServices, role: str
) -> None:
    """The run holds with the reason and all its work; `retry` makes only the refused call again."""
    scripted.fail(role, REFUSED_KEY)
    run = await runs.start("What is the value?", auto_accept=True)
    held = await run.reach(Phase.NEEDS_ATTENTION)
    assert "key" in (held.reason or "")
    assert MODEL_KEY not in held.model_dump_json()
    assert (await run.recorded(Phase.NEEDS_ATTENTION)).reason == held.reason
    refused = scripted.log.count(role)
    await run.update("control", {"action": "retry"})
    status = await run.end()
    assert status.phase is Phase.COMPLETED
    keys = [call.key for call in scripted.log.calls()]
    assert len(keys) - len(set(keys)) == 1
    assert refused == 1


async def test_retry_may_come_as_a_signal(runs: Runs, scripted: ScriptedServices) -> None:
    """The same command as a signal releases the hold."""
    scripted.fail("planner", REFUSED_KEY)
    run = await runs.start("What is the value?", auto_accept=True)
    await run.reach(Phase.NEEDS_ATTENTION)
    await run.signal("control", {"action": "retry"})
    assert (await run.end()).phase is Phase.COMPLETED


async def test_a_held_run_can_be_cancelled(runs: Runs, scripted: ScriptedServices) -> None:
    """Waiting for a person is no reason not to end."""
    scripted.fail("researcher", REFUSED_KEY, times=9)
    run = await runs.start("What is the value?", auto_accept=True)
    await run.reach(Phase.NEEDS_ATTENTION)
    await run.handle.cancel()
    assert await run.closed(within_s=10) == WorkflowExecutionStatus.CANCELED
    assert (await run.status()).phase is Phase.CANCELLED


async def test_findings_outlive_a_reporter_that_cannot_be_reached(runs: Runs, scripted: ScriptedServices) -> None:
    """When no model writes the report the findings are joined under their titles, and the run has a gap."""
    scripted.fail("reporter", Failure(400, {"error": {"message": "scripted refusal"}}), times=9)
    status = await runs.complete("What is the value?")
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert status.report
    assert "Look at subject-a1" in status.report.markdown
    assert "was looked up" in status.report.markdown


async def test_messages_after_the_end_change_nothing(runs: Runs, scripted: ScriptedServices) -> None:
    """Case A07: a run that is over takes no message, by signal or update, and keeps its report and record."""
    completed = await runs.start("What is the value?", auto_accept=True)
    before = await completed.end()
    scripted.scripts["planner"] = "no plan"
    failed = await runs.start("What is the value?")
    await failed.end()
    for run in (completed, failed):
        record = await run.record()
        for send in (run.signal("approve"), run.signal("edit", "more"), run.update("control", {"action": "retry"})):
            with pytest.raises(RPCError, match="already completed"):
                await send
        assert await run.record() == record
    assert await completed.status() == before


async def test_a_plain_report_needs_no_reporter(runs: Runs, scripted: ScriptedServices) -> None:
    """`report_style` plain joins the findings without a model call."""
    status = await runs.complete("What is the value?", report_style="plain")
    assert scripted.log.count("reporter") == 0
    assert status.report
    assert "was looked up" in status.report.markdown


async def test_no_key_reaches_history_status_or_record(runs: Runs, scripted: ScriptedServices) -> None:
    """The keys of model and search are in no history, status or record of a run that met refusals on its way."""
    echo = {"error": {"message": f"Incorrect API key provided: {MODEL_KEY}.", "code": "invalid_api_key"}}
    scripted.fail("planner", Failure(401, echo))
    scripted.fail("researcher", Failure(400, echo))
    run = await runs.start("What is the value?", auto_accept=True)
    await run.reach(Phase.NEEDS_ATTENTION)
    await run.signal("control", {"action": "retry"})
    status = await run.end()
    assert status.plan
    assert status.plan.steps[0].status is StepStatus.FAILED
    described = await run.handle.describe()
    seen = [history async for _, history in run.histories()]
    seen += [status.model_dump_json(), str(await run.record()), json.dumps(await described.memo(), default=str)]
    seen.append(str(described.raw_description))
    assert leaked_canaries("\n".join(seen)) == []
