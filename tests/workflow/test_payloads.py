"""Nothing that services say, however long, is too large for Temporal: it is kept elsewhere, cut or refused."""

import json
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio import activity, workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from deer.models import Phase, StepStatus
from deer.payloads import LARGE_PAYLOAD_BYTES, MAX_MESSAGE_CHARS, MAX_TRACE_CHARS
from deer.providers.files import FileStore
from tests.running import Runs, children_in, client_with
from tests.scripted import (
    Call,
    Failure,
    Json,
    ScriptedServices,
    Stream,
    ToolCall,
    ToolCalls,
    analysis_step,
    call_tool,
    plan_of,
    research_step,
)
from tests.scripted.roles import finding

MEGABYTE = 1_000_000
ONCE = RetryPolicy(maximum_attempts=3, non_retryable_error_types=["PayloadsTooLarge"])


async def test_much_of_everything_is_kept_elsewhere(runs: Runs, scripted: ScriptedServices) -> None:
    """A run with 240 long addresses in a turn, a finding and a report of megabytes completes with small events."""

    def results(query: str) -> list[Json]:
        address = f"{scripted.url}/page/{hash(query) % 10**9}-{'long' * 450}"
        return [{"title": "结果", "url": f"{address}-{place}", "content": "测量值。" * 125} for place in range(20)]

    def researcher(call: Call) -> object:
        if call.rounds:
            return finding(call)
        return ToolCalls(tuple(ToolCall("web_search", {"query": f"facts {number}"}) for number in range(12)))

    scripted.setup.results = results
    scripted.scripts["researcher"] = researcher  # type: ignore[assignment]  # the union of replies
    scripted.scripts["analyst"] = call_tool("submit_finding", summary="A long finding. " * 12_000, claims=[])
    report = "# Report\n\n" + "A sentence of the report. " * 110_000
    scripted.scripts["reporter"] = Stream(({"content": report},))
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"), research_step("subject-b2"), analysis_step())
    run = await runs.start("What is the value?", auto_accept=True, max_search_results=20)
    status = await run.end(within_s=60)

    assert status.phase is Phase.COMPLETED, status.notices
    assert len(status.sources) == 240 + 20
    assert len(status.model_dump_json()) > 3 * LARGE_PAYLOAD_BYTES, "a query too is kept elsewhere when it is large"
    record = await run.record()
    assert record
    assert record.report
    assert len(record.report.markdown) > 2.5 * MEGABYTE
    histories = [await run.events()]
    for step in children_in(histories[0]):
        history = await run.client.get_workflow_handle(step).fetch_history()
        histories.append(list(history.events))
    assert max(event.ByteSize() for events in histories for event in events) < LARGE_PAYLOAD_BYTES + 10_000
    assert sum(event.ByteSize() for event in histories[0]) < MEGABYTE
    started = EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED
    attempts = [
        event.activity_task_started_event_attributes.attempt
        for events in histories
        for event in events
        if event.event_type == started
    ]
    assert set(attempts) == {1}


async def test_what_a_service_refuses_with_is_cut(runs: Runs, scripted: ScriptedServices) -> None:
    """An endpoint that refuses a call with 3 MB of words fails the step in a sentence, and the run completes."""
    scripted.fail("analyst", Failure(422, {"error": {"message": "because " * 400_000}}), times=99)
    run = await runs.start("What is the value?", auto_accept=True)
    status = await run.end()
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert status.plan
    assert [step.status for step in status.plan.steps].count(StepStatus.FAILED) == 1
    assert len(status.model_dump_json()) < 20_000


@activity.defn
async def weigh(words: str) -> str:
    """Twice what it is given; a fault that quotes all of it when it is told to fail."""
    if words.startswith("fail"):
        raise ValueError(words)
    return words * 2


@workflow.defn
class Weighing:
    """Passes texts of megabytes through everything that has a payload."""

    @workflow.init
    def __init__(self, words: str) -> None:
        self._words = words

    @workflow.run
    async def run(self, words: str) -> str:
        """The longest text that an activity, called with three of them at once, gives back."""
        calls = [
            workflow.start_activity(weigh, words, start_to_close_timeout=timedelta(seconds=20), retry_policy=ONCE)
            for _ in range(3)
        ]
        said = [await call for call in calls]
        await workflow.wait_condition(lambda: self._words == "go on")
        return said[0]

    @workflow.query
    def words(self) -> str:
        """Twice the text of now."""
        return self._words * 2

    @workflow.update
    def replace(self, words: str) -> str:
        """Take another text; answers with it."""
        self._words = words
        return words

    @workflow.signal
    def go_on(self, words: str) -> None:
        """End."""
        self._words = words[:5]


@pytest.fixture
async def client(server: WorkflowEnvironment, tmp_path: Path) -> AsyncIterator[Client]:
    """A client with a store, and a worker with it for `Weighing` on the queue `weighing`."""
    client = client_with(server.client, FileStore(tmp_path))
    async with Worker(
        client,
        task_queue="weighing",
        workflows=[Weighing],
        activities=[weigh],
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_cached_workflows=0,  # each task replays from the history, so that everything is read back too
        build_id="tests",
    ):
        yield client


async def test_every_kind_of_payload_may_weigh_megabytes(client: Client) -> None:
    """Inputs, results, queries, updates and signals of 3 to 6 MB pass, and the history holds their hashes only."""
    text = "weight " * 430_000
    handle = await client.start_workflow(Weighing.run, text, id=f"w-{uuid.uuid4().hex}", task_queue="weighing")
    assert await handle.query(Weighing.words) == text * 2
    assert await handle.execute_update(Weighing.replace, text[::-1]) == text[::-1]
    await handle.signal(Weighing.go_on, "go on" + text)
    assert await handle.result() == text * 2
    events = [event async for event in handle.fetch_history_events()]
    assert sum(event.ByteSize() for event in events) < 20_000


async def test_a_fault_that_quotes_megabytes_is_cut(client: Client) -> None:
    """The message of a fault of 3 MB arrives as its beginning, in the history as in the client."""
    text = "fail " * 600_000
    handle = await client.start_workflow(Weighing.run, text, id=f"w-{uuid.uuid4().hex}", task_queue="weighing")
    with pytest.raises(WorkflowFailureError) as caught:
        await handle.result()
    assert isinstance(caught.value.cause, ActivityError)
    fault = caught.value.cause.cause
    assert isinstance(fault, ApplicationError)
    assert fault.message.startswith("fail fail")
    assert len(fault.message) <= MAX_MESSAGE_CHARS
    events = [event async for event in handle.fetch_history_events()]
    assert max(event.ByteSize() for event in events) < 2 * MAX_MESSAGE_CHARS + MAX_TRACE_CHARS
    assert json.dumps(fault.message).count("(cut)") == 1
