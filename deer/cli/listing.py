"""The runs there are: open ones and recent ones from Temporal, older ones from their records."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from temporalio.client import Client

from deer.cli.handles import Standing, rpc_errors_named, standing_of
from deer.cli.reading import read_record
from deer.models import Phase
from deer.ports import RECORDS, TextStore

RUNS_QUERY = "WorkflowType = 'Research'"


@dataclass(frozen=True)
class ListedRun:
    """A run as `list` shows it. `started_at` is None where only a record without hand-offs tells of it."""

    id: str
    phase: Phase
    question: str
    started_at: datetime | None
    closed_at: datetime | None = None

    def as_json(self) -> dict[str, str | None]:
        """The run as an object of `list --json`; times are ISO 8601 in UTC."""
        return {
            "id": self.id,
            "phase": self.phase.value,
            "question": self.question,
            "started_at": self.started_at.isoformat() if self.started_at else None,
            "closed_at": self.closed_at.isoformat() if self.closed_at else None,
        }


async def list_runs(client: Client, store: TextStore) -> list[ListedRun]:
    """All runs: those that wait for a person first, then those at work, then ended ones; each group newest first.

    Raises NoServer.
    """
    with rpc_errors_named():
        known = [_listed(await standing_of(execution)) async for execution in client.list_workflows(RUNS_QUERY)]
    newest = _newest_of_each_id(known)
    kept = [await _from_record(store, run_id) for run_id in await _record_ids(store) if run_id not in newest]
    return sorted((*newest.values(), *(run for run in kept if run is not None)), key=_urgency)


def _listed(standing: Standing) -> ListedRun:
    return ListedRun(standing.id, standing.phase, standing.question, standing.started_at, standing.closed_at)


def _newest_of_each_id(runs: Iterable[ListedRun]) -> dict[str, ListedRun]:
    """A run that continued as new stands in Temporal's list once for each part; its last part counts."""
    newest: dict[str, ListedRun] = {}
    for run in runs:
        other = newest.get(run.id)
        if other is None or _start_seconds(run) > _start_seconds(other):
            newest[run.id] = run
    return newest


async def _record_ids(store: TextStore) -> list[str]:
    return [name.removeprefix(RECORDS) for name in await store.entry_names(RECORDS)]


async def _from_record(store: TextStore, run_id: str) -> ListedRun | None:
    """A run that Temporal no longer keeps, as it was when it was saved last."""
    record = await read_record(store, run_id)
    if record is None:
        return None
    moments = [handoff.at for handoff in record.handoffs]
    closed_at = max(moments, default=None) if record.phase.is_end else None
    return ListedRun(run_id, record.phase, record.question, min(moments, default=None), closed_at)


def _urgency(run: ListedRun) -> tuple[int, float]:
    rank = 0 if run.phase.waits_for_a_person else 2 if run.phase.is_end else 1
    return rank, -_start_seconds(run)


def _start_seconds(run: ListedRun) -> float:
    return run.started_at.timestamp() if run.started_at else 0.0
