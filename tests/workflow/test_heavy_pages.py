"""Pages that are too much: they cost the step that reads them, not the worker, the other runs or the person."""

import time

from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.client import WorkflowExecutionStatus

from deer.models import Phase, StepStatus
from tests.eventually import eventually
from tests.running import Run, Runs, children_in
from tests.scripted import Call, ScriptedServices, ToolCall, ToolCalls, plan_of, research_step
from tests.scripted.replies import Answer
from tests.scripted.roles import asked_text, researcher

HUGE = "<html><body><article>" + "<div><table><tr><td><b>cell</b> of a table</td></tr></table></div>" * 30_000


def reads(scripted: ScriptedServices, *names: str) -> ToolCalls:
    """A turn that reads these pages side by side."""
    return ToolCalls(tuple(ToolCall("read_page", {"url": f"{scripted.url}/page/{name}"}) for name in names))


async def test_cancelling_stops_a_page_that_does_not_end(runs: Runs, scripted: ScriptedServices) -> None:
    """Case T19: cancelled in a page that drips 100 MB, a run ends in ten seconds, pays no more, keeps its findings."""

    def turns(call: Call) -> Answer:
        return reads(scripted, "endless") if "subject-b2" in asked_text(call) else researcher(call)

    scripted.setup.drips = frozenset({"endless"})
    scripted.scripts["researcher"] = turns
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"), research_step("subject-b2", depends_on=[1]))
    run = await runs.start("What is the value?", auto_accept=True)
    await eventually(lambda: bool(scripted.log.calls("page", lambda call: call.path == "endless")), "the endless page")
    calls = len(scripted.log)
    await run.handle.cancel()
    assert await run.closed(within_s=10) == WorkflowExecutionStatus.CANCELED
    await eventually(lambda: not scripted.log.open(), "the end of the page, which nobody reads any more", 10)
    record = await run.record()
    assert record is not None
    assert record.plan is not None
    assert record.phase is Phase.CANCELLED
    assert record.plan.steps[0].status is StepStatus.DONE
    assert "was looked up" in (record.plan.steps[0].finding or "")
    assert len(scripted.log) == calls


async def test_a_heavy_page_holds_up_no_other_run(runs: Runs, scripted: ScriptedServices) -> None:
    """Case T15: beside a page that drips and one of 2 MB another run keeps its pace, and the heartbeats go on."""
    await timed(runs)  # what is loaded at first use is not to be measured
    alone_s = await timed(runs)
    scripted.setup.drips, scripted.setup.pages = frozenset({"endless"}), {"huge": HUGE}
    scripted.scripts["researcher"] = lambda call: (
        reads(scripted, "endless", "huge") if "heavy" in asked_text(call) else researcher(call)
    )
    heavy = await runs.start("What is the heavy value?", auto_accept=True)
    await eventually(lambda: scripted.log.count("page") >= 4, "both pages")
    beside_s = await timed(runs)
    # Twice is for the second core, which a small machine may not have to spare.
    assert beside_s < 2 * alone_s + 2
    page = await eventually(lambda: beaten(heavy), "a heartbeat of the page that drips")
    assert page.attempt == 1
    assert len(scripted.log.calls("page", lambda call: call.path == "endless")) == 1


async def timed(runs: Runs) -> float:
    """Seconds that a small run takes."""
    began = time.monotonic()
    assert (await runs.complete("What is the value?")).phase is Phase.COMPLETED
    return time.monotonic() - began


async def beaten(run: Run) -> PendingActivityInfo | None:
    """The page that a run's step reads at the moment, once a heartbeat told of it."""
    for child in children_in(await run.events()):
        described = await run.client.get_workflow_handle(child).describe()
        for pending in described.raw_description.pending_activities:
            if pending.last_heartbeat_time != Timestamp():
                return pending
    return None
