"""A run as the command line reaches it: a port, and its implementation over Temporal's client."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowQueryRejectedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from deer.cli.exits import CALL_WORKER
from deer.errors import DeerError, NoServer, NotFound, Refused
from deer.models import Phase, ProgressPage, RunStatus, TextRef
from deer.temporal import RESEARCH_PHASE

QUERY_LIMIT = timedelta(seconds=5)
PROGRESS_LIMIT = timedelta(seconds=2)
"""Of two such questions in a row, to a step and then to its run, the follower says within five seconds that nobody
answers."""
UPDATE_LIMIT = timedelta(seconds=60)
"""Long enough for a worker that is being loaded."""

STUCK_ATTEMPTS = 3

_PHASE_OF_STATUS = {
    WorkflowExecutionStatus.COMPLETED: Phase.COMPLETED,
    WorkflowExecutionStatus.CANCELED: Phase.CANCELLED,
    WorkflowExecutionStatus.FAILED: Phase.FAILED,
    WorkflowExecutionStatus.TERMINATED: Phase.FAILED,
    WorkflowExecutionStatus.TIMED_OUT: Phase.FAILED,
}
_OPEN = frozenset({WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.CONTINUED_AS_NEW})
_NOBODY_ANSWERED = frozenset(
    {
        RPCStatusCode.CANCELLED,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.FAILED_PRECONDITION,
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.RESOURCE_EXHAUSTED,
    }
)

T = TypeVar("T")


@dataclass(frozen=True)
class Standing:
    """What Temporal itself knows of a run, without a worker.

    `ended_by` is set where no code of the run decided its end: somebody terminated it, or Temporal's own limit did.
    `request_hash` and `question` are empty for a run that was started elsewhere.
    `attempts`: how often Temporal has handed out its next move; more than a few means that workers fail at it.
    """

    id: str
    is_open: bool
    phase: Phase
    question: str
    request_hash: str
    started_at: datetime
    closed_at: datetime | None
    ended_by: str | None = None
    attempts: int = 0

    @property
    def trouble(self) -> str | None:
        """What keeps a stuck run, in words; None for a run that is not stuck."""
        if not self.is_open or self.attempts < STUCK_ATTEMPTS:
            return None
        return (
            f"run {self.id} is stuck: workers failed {self.attempts - 1} times at its next move, since their code does "
            "not fit its history or has a fault; run a worker of the version that began it"
        )


class RunHandle(Protocol):
    """One run. Methods raise NotFound for an unknown run, NoServer when nobody answers in time, and Refused."""

    @property
    def id(self) -> str:
        """The run's name."""
        ...

    async def standing(self) -> Standing:
        """What Temporal knows of it; needs no worker."""
        ...

    async def status(self) -> RunStatus:
        """The run's own account of itself, long texts as previews; needs a worker."""
        ...

    async def references(self) -> Mapping[str, TextRef]:
        """Where the texts are that `status` shows as previews, by path such as `report.markdown`; needs a worker."""
        ...

    async def progress(self, since: str, step: str | None = None) -> ProgressPage:
        """What happened after a cursor, in the run or in the step with this workflow id; needs a worker."""
        ...

    async def update(self, name: str, message: Mapping[str, Any]) -> str:  # the shapes are those of deer.messages
        """Send `review`, `answer` or `control`; what the run did, in plain words. Needs a worker."""
        ...

    async def cancel(self) -> None:
        """Ask the run to end; returns once Temporal has the request."""
        ...


class TemporalRun:
    """A run behind Temporal's client."""

    def __init__(self, client: Client, run_id: str) -> None:
        self._client = client
        self._handle: WorkflowHandle[Any, Any] = client.get_workflow_handle(run_id)  # started elsewhere
        self.id = run_id

    async def standing(self) -> Standing:
        if not self.id:
            raise no_such_run(self.id)
        with rpc_errors_named(self.id):
            return await standing_of(await self._handle.describe(rpc_timeout=QUERY_LIMIT))

    async def status(self) -> RunStatus:
        return await self._query(self._handle, "status", RunStatus)

    async def references(self) -> Mapping[str, TextRef]:
        return await self._query(self._handle, "references", dict[str, TextRef])

    async def progress(self, since: str, step: str | None = None) -> ProgressPage:
        handle = self._client.get_workflow_handle(step) if step else self._handle
        return await self._query(handle, "progress", ProgressPage, since, limit=PROGRESS_LIMIT)

    async def update(self, name: str, message: Mapping[str, Any]) -> str:
        try:
            with rpc_errors_named(self.id):
                return str(await self._handle.execute_update(name, dict(message), rpc_timeout=UPDATE_LIMIT))
        except WorkflowUpdateRPCTimeoutOrCancelledError as error:
            raise NoServer(f"run {self.id}: no worker took the message; start one with: {CALL_WORKER}") from error
        except WorkflowUpdateFailedError as error:
            cause = error.cause
            raise Refused(cause.message if isinstance(cause, ApplicationError) else str(cause)) from error

    async def cancel(self) -> None:
        with rpc_errors_named(self.id):
            await self._handle.cancel(rpc_timeout=QUERY_LIMIT)

    async def _query(
        self,
        handle: WorkflowHandle[Any, Any],  # of a run or of a step
        name: str,
        answer: type[T],
        *arguments: str,
        limit: timedelta = QUERY_LIMIT,
    ) -> T:
        try:
            # The SDK's own limit holds for each of its attempts, of which it may make several.
            async with asyncio.timeout(limit.total_seconds()):
                with rpc_errors_named(self.id):
                    reply: T = await handle.query(name, args=arguments, result_type=answer, rpc_timeout=limit)
                    return reply
        except TimeoutError:
            raise NoServer(f"run {self.id}: no worker answered in time") from None
        except (WorkflowQueryFailedError, WorkflowQueryRejectedError) as error:
            raise Refused(f"run {self.id} is stuck and cannot answer: {error}") from error


async def standing_of(execution: WorkflowExecution) -> Standing:
    """What a description or a line of Temporal's list says of a run."""
    memo = await execution.memo()
    question = str(memo.get("question", ""))
    if not question and isinstance(execution, WorkflowExecutionDescription):
        question = (await execution.static_summary() or "").removeprefix("Deep research: ")
    is_open = execution.status in _OPEN
    return Standing(
        id=execution.id,
        is_open=is_open,
        phase=_phase_of(execution, is_open=is_open),
        question=question,
        request_hash=str(memo.get("request_hash", "")),
        started_at=execution.start_time,
        closed_at=execution.close_time,
        ended_by=_ended_by(execution.status),
        attempts=_attempts(execution),
    )


def _phase_of(execution: WorkflowExecution, *, is_open: bool) -> Phase:
    written = execution.typed_search_attributes.get(RESEARCH_PHASE)
    phase = Phase(written) if written in set(Phase) else Phase.COORDINATING
    if is_open:
        return phase
    fallback = _PHASE_OF_STATUS.get(execution.status, Phase.FAILED) if execution.status else Phase.FAILED
    return phase if phase.is_end and fallback is Phase.COMPLETED else fallback


def _attempts(execution: WorkflowExecution) -> int:
    if not isinstance(execution, WorkflowExecutionDescription):
        return 0
    return execution.raw_description.pending_workflow_task.attempt


def _ended_by(status: WorkflowExecutionStatus | None) -> str | None:
    if status is WorkflowExecutionStatus.TERMINATED:
        return "the run was terminated in Temporal"
    return "the run reached a time limit of Temporal" if status is WorkflowExecutionStatus.TIMED_OUT else None


@contextmanager
def rpc_errors_named(run_id: str = "") -> Iterator[None]:
    """Turn what Temporal's server says into errors a person understands."""
    try:
        yield
    except RPCError as error:
        raise _named(error, run_id) from error


def _named(error: RPCError, run_id: str) -> DeerError:
    if error.status is RPCStatusCode.NOT_FOUND and "already completed" in str(error):
        return Refused(f"run {run_id} has already finished")
    if error.status is RPCStatusCode.NOT_FOUND or (run_id and error.status is RPCStatusCode.INVALID_ARGUMENT):
        return no_such_run(run_id)
    if error.status in _NOBODY_ANSWERED:
        who = f"run {run_id}: no worker" if run_id else "no Temporal server"
        return NoServer(f"{who} answered in time")
    return NoServer(f"the Temporal server refuses: {error.message}")


def no_such_run(run_id: str) -> NotFound:
    """The error for a run that neither Temporal nor the store knows."""
    return NotFound(f"no run named {run_id[:100] or '(nothing)'}; `list` shows the runs there are")
