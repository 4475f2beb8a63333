"""Starting a run, or coming back to the one that has the name already."""

from dataclasses import dataclass

from temporalio.client import Client
from temporalio.common import (
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDConflictPolicy,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import WorkflowAlreadyStartedError

from deer.cli.asking import request_hash
from deer.cli.handles import TemporalRun, rpc_errors_named
from deer.cli.reading import read_record
from deer.errors import Refused
from deer.flow import RunState, in_words
from deer.models import Phase, ResearchRequest
from deer.ports import TextStore
from deer.temporal import RESEARCH_PHASE, RESEARCH_QUEUE, TASK_TIMEOUT

WORKFLOW = "Research"
_SUMMARY_CHARS = 120
_MEMO_CHARS = 1_000
"""Temporal warns of memos above 2 KB."""


@dataclass(frozen=True)
class StartedRun:
    """A run that answers a request; `is_new` is False when it was there before."""

    run: TemporalRun
    is_new: bool


async def start_or_attach(client: Client, store: TextStore, run_id: str, request: ResearchRequest) -> StartedRun:
    """Start a run, or attach to the one of this name that was asked the same.

    Raises Refused when the name belongs to another question, and NoServer.
    """
    run = TemporalRun(client, run_id)
    record = await read_record(store, run_id)
    if record is not None and record.question != request.question:
        raise _taken(run_id)
    try:
        with rpc_errors_named():
            await _start(client, run_id, request)
    except WorkflowAlreadyStartedError:
        if (await run.standing()).request_hash != request_hash(request):
            raise _taken(run_id) from None
        return StartedRun(run, is_new=False)
    return StartedRun(run, is_new=True)


async def start_fork(client: Client, state: RunState) -> TemporalRun:
    """Start a run that has its plan already. Raises Refused when its name is in use, and NoServer."""
    try:
        with rpc_errors_named():
            await _start(client, state.id, state.request, state)
    except WorkflowAlreadyStartedError:
        raise _taken(state.id) from None
    return TemporalRun(client, state.id)


async def _start(client: Client, run_id: str, request: ResearchRequest, state: RunState | None = None) -> None:
    await client.start_workflow(
        WORKFLOW,
        args=[request] if state is None else [request, state],
        id=run_id,
        task_queue=RESEARCH_QUEUE,
        task_timeout=TASK_TIMEOUT,
        id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        static_summary=f"Deep research: {_cut(' '.join(request.question.split()), _SUMMARY_CHARS)}",
        static_details=_details(request),
        memo={"question": _cut(request.question, _MEMO_CHARS), "request_hash": request_hash(request)},
        search_attributes=TypedSearchAttributes([SearchAttributePair(RESEARCH_PHASE, Phase.COORDINATING.value)]),
    )


def _details(request: ResearchRequest) -> str:
    """The question with the limits of its run, as Markdown for Temporal's UI."""
    asked_by = f"\n\nAsked by {request.requested_by}" if request.requested_by else ""
    rounds = request.max_clarification_rounds
    asks_back = f"- the coordinator may ask back {rounds} times at most\n" if rounds else ""
    return (
        f"{_cut(request.question, _MEMO_CHARS)}{asked_by}\n\n"
        f"- at most {request.max_steps} steps, {request.max_parallel_steps} at once, {request.max_turns} turns each\n"
        f"- rounds: {request.max_rounds}\n{asks_back}"
        f"- budget: {in_words(request.budget)}\n"
        f"- plans are {'accepted at once' if request.auto_accept else 'reviewed by a person'}"
    )


def _taken(run_id: str) -> Refused:
    return Refused(f"--id: {run_id} is already in use by another question; choose another name")


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[: chars - 1]}…"
