"""A run as a test drives it: the messages, queries and records that people and programs use, and nothing else."""

import asyncio
import math
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowHistoryEventFilterType,
    WorkflowUpdateFailedError,
)
from temporalio.service import RPCError

from deer.flow import RunState
from deer.models import Phase, PlanStatus, ProgressPage, ResearchRequest, RunStatus
from deer.ports import TextStore
from deer.temporal import TASK_TIMEOUT
from tests.eventually import SLOW_MACHINE_S, eventually

Handle = WorkflowHandle[Any, Any]  # a handle by name knows no types

STUCK_ATTEMPTS = 3


@dataclass
class Run:
    """One run under test."""

    client: Client
    handle: Handle
    store: TextStore

    @property
    def id(self) -> str:
        """The run's id."""
        return self.handle.id

    async def status(self) -> RunStatus:
        """What the query `status` says."""
        status: RunStatus = await self.handle.query("status", result_type=RunStatus)
        return status

    async def progress(self, since: str = "") -> ProgressPage:
        """What the query `progress` says."""
        page: ProgressPage = await self.handle.query("progress", since, result_type=ProgressPage)
        return page

    async def reach(self, *phases: Phase, within_s: float = SLOW_MACHINE_S) -> RunStatus:
        """Wait until the run is in one of these phases; fails at once when it has ended in another or is stuck."""

        async def look() -> RunStatus | None:
            await self._temporal_status()
            status = await self.status()
            if status.phase in phases:
                return status
            assert not status.phase.is_end, f"ended as {status.phase}: {status.reason}; notices {status.notices}"
            return None

        return await eventually(look, f"phase {' or '.join(phases)}", within_s)

    async def reach_revision(self, revision: int) -> PlanStatus:
        """Wait until the plan of this revision waits for review."""

        async def look() -> PlanStatus | None:
            status = await self.status()
            assert not status.phase.is_end, f"ended as {status.phase} before revision {revision} was to be reviewed"
            waits = status.phase is Phase.AWAITING_REVIEW
            return status.plan if waits and status.plan and status.plan.revision == revision else None

        return await eventually(look, f"revision {revision} in review")

    async def closed(self, within_s: float = SLOW_MACHINE_S) -> WorkflowExecutionStatus:
        """Wait until Temporal has closed the run, and how; fails at once when the run is stuck."""
        closing = asyncio.create_task(self._close())
        try:
            for _ in range(math.ceil(within_s)):
                if (await asyncio.wait([closing], timeout=1))[0]:
                    return closing.result()
                await self._temporal_status()
        finally:
            closing.cancel()
        raise AssertionError(f"the end of the run did not come about within {within_s:g} s")

    async def _close(self) -> WorkflowExecutionStatus:
        """How the last history of the run was closed, told by the server when it happens."""
        is_close = WorkflowHistoryEventFilterType.CLOSE_EVENT
        while True:
            async for _ in self.handle.fetch_history_events(wait_new_event=True, event_filter_type=is_close):
                pass
            status = (await self.handle.describe()).status
            if status and status != WorkflowExecutionStatus.RUNNING:
                return status

    async def end(self, within_s: float = SLOW_MACHINE_S) -> RunStatus:
        """Wait until Temporal has closed the run; the status of then."""
        await self.closed(within_s)
        return await self.status()

    async def record(self) -> RunStatus | None:
        """The record of the run in the TextStore."""
        entry = await self.store.read_entry(f"runs/{self.id}")
        return None if entry is None else RunStatus.model_validate_json(entry)

    async def state(self) -> RunState:
        """All that the run knew when it saved its record."""
        saved = await self.store.read_entry(f"states/{self.id}")
        assert saved
        return RunState.model_validate_json(saved)

    async def recorded(self, phase: Phase) -> RunStatus:
        """Wait until the record says this phase."""

        async def look() -> RunStatus | None:
            record = await self.record()
            return record if record and record.phase is phase else None

        return await eventually(look, f"a record in phase {phase}")

    async def signal(self, name: str, *arguments: object) -> None:
        """Send a signal with at most one argument."""
        await self.handle.signal(name, args=arguments)

    async def approve(self) -> None:
        """Approve the plan as soon as one waits."""
        await self.reach(Phase.AWAITING_REVIEW)
        await self.signal("approve")

    async def update(self, name: str, argument: object = None) -> Any:
        """Send an update that must be taken."""
        return await self.handle.execute_update(name, argument)

    async def refusal(self, name: str, argument: object = None) -> str:
        """Send an update that must be refused; the reason."""
        try:
            answer = await self.handle.execute_update(name, argument)
        except WorkflowUpdateFailedError as error:
            return str(error.cause)
        raise AssertionError(f"{name} was taken and answered {answer}")

    async def events(self) -> list[HistoryEvent]:
        """The run's own history."""
        return list((await self.handle.fetch_history()).events)

    async def histories(self) -> AsyncIterator[tuple[str, str]]:
        """Workflow id and history, as JSON, of the run and of every step it started."""
        yield self.id, (await self.handle.fetch_history()).to_json()
        for child_id in children_in(await self.events()):
            yield child_id, (await self.client.get_workflow_handle(child_id).fetch_history()).to_json()

    async def terminate_if_open(self) -> None:
        """End the run, whatever it does; its steps end with it."""
        if (await self.handle.describe()).status == WorkflowExecutionStatus.RUNNING:
            with suppress(RPCError):  # it may have ended since
                await self.handle.terminate("the test is over")

    async def _temporal_status(self) -> WorkflowExecutionStatus | None:
        """How the run stands with Temporal; AssertionError when its task fails again and again."""
        description = await self.handle.describe()
        task = description.raw_description.pending_workflow_task
        if task.attempt >= STUCK_ATTEMPTS:
            failures = [event.workflow_task_failed_event_attributes.failure for event in await self.events()]
            said = next((failure.message for failure in reversed(failures) if failure.message), "unknown")
            raise AssertionError(f"the workflow task fails again and again: {said}")
        return description.status


@dataclass
class Runs:
    """Starts runs on the worker of a test."""

    client: Client
    task_queue: str
    store: TextStore
    _started: list[Run] = field(default_factory=list)

    @asynccontextmanager
    async def of_one_test(self) -> AsyncIterator["Runs"]:
        """The same worker, for runs that are ended when the block is left."""
        runs = Runs(self.client, self.task_queue, self.store)
        try:
            yield runs
        finally:
            for run in runs._started:
                await run.terminate_if_open()

    async def start(self, question: str = "What is the value?", *, run_id: str = "", **fields: object) -> Run:
        """Start a run; `fields` are those of `ResearchRequest`."""
        request = ResearchRequest.model_validate({"question": question, **fields})
        return await self.start_raw(request.model_dump(mode="json"), run_id)

    async def start_raw(self, request: object, run_id: str = "") -> Run:
        """Start a run with any input, as Temporal's own tools would."""
        handle = await self.client.start_workflow(
            "Research",
            request,
            id=run_id or f"run-{uuid.uuid4().hex[:8]}",
            task_queue=self.task_queue,
            task_timeout=TASK_TIMEOUT,
        )
        run = Run(self.client, handle, self.store)
        self._started.append(run)
        return run

    async def go_on(self, state: RunState) -> Run:
        """Start a run that has a plan already, as forks do."""
        handle = await self.client.start_workflow(
            "Research", args=[state.request, state], id=state.id, task_queue=self.task_queue
        )
        run = Run(self.client, handle, self.store)
        self._started.append(run)
        return run

    async def complete(self, question: str = "What is the value?", **fields: object) -> RunStatus:
        """Start a run that accepts its own plan, and wait for its end."""
        request = {"question": question, "auto_accept": True, **fields}
        run = await self.start_raw(ResearchRequest.model_validate(request).model_dump(mode="json"))
        return await run.end()


def children_in(events: list[HistoryEvent]) -> list[str]:
    """Workflow ids of the children that a history started."""
    return [
        event.child_workflow_execution_started_event_attributes.workflow_execution.workflow_id
        for event in events
        if event.event_type == EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED
    ]


def completed_activities(events: list[HistoryEvent]) -> list[str]:
    """Types of the activities that a history has the result of, in order of completion."""
    scheduled = {
        event.event_id: event.activity_task_scheduled_event_attributes.activity_type.name
        for event in events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    }
    return [
        scheduled[event.activity_task_completed_event_attributes.scheduled_event_id]
        for event in events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
    ]
