"""`prune`: cleaning the store of what runs left that ended long ago."""

import asyncio
from datetime import UTC, datetime, timedelta

from temporalio.client import Client

from deer.cli.asking import parse_duration
from deer.cli.exits import ExitCode
from deer.cli.handles import rpc_errors_named
from deer.cli.printing import Printer
from deer.cli.session import open_session
from deer.config import load_settings
from deer.errors import InvalidInput, NotFound
from deer.ports import TextStore
from deer.pruning import SHORTEST_AGE, LivingRuns, Pruned, hashes_in, prune

LONGEST_AGE = timedelta(days=36_500)
_READ_AT_ONCE = 8
_KEPT_ELSEWHERE = b"ExternalStorageReference"
"""Stands in an event whose value the store has, as its payload converter writes it."""


async def prune_store(older_than: str, *, dry_run: bool, as_json: bool) -> ExitCode:
    """Remove what runs left that ended before a time like `30d`. Raises NoServer when open runs cannot be asked for."""
    age = parse_duration(older_than, "--older-than")
    if age < SHORTEST_AGE:
        raise InvalidInput("must be an hour or more: younger texts may belong to calls in flight", "--older-than")
    if age > LONGEST_AGE:
        raise InvalidInput(f"must be {LONGEST_AGE.days}d or less", "--older-than")
    unchanged_since = datetime.now(UTC) - age
    async with open_session(load_settings(), runs_worker=False) as session:
        pruned = await prune(
            session.store,
            unchanged_since,
            lambda: living_runs(session.client, session.store, unchanged_since),
            removes=not dry_run,
        )
    printer = Printer(as_json=as_json)
    if as_json:
        printer.json({"dry_run": dry_run, "older_than_seconds": int(age.total_seconds()), **pruned.model_dump()})
    else:
        printer.say(_told(pruned, dry_run=dry_run))
    return ExitCode.DONE


def _told(pruned: Pruned, *, dry_run: bool) -> str:
    done = "would remove" if dry_run else "removed"
    return (
        f"{done} {pruned.records} records, {pruned.answers} answers and {pruned.texts} texts: "
        f"{pruned.size_bytes / 1_000_000:,.1f} MB; {pruned.living_runs} runs, open or ended since, were left alone"
    )


async def living_runs(client: Client, store: TextStore, ended_since: datetime) -> LivingRuns:
    """The runs that are open, or were at a moment, with all that their histories and those of their steps refer to.

    Raises NoServer.
    """
    query = (
        "WorkflowType IN ('Research', 'Step') AND "
        f"(ExecutionStatus = 'Running' OR CloseTime >= '{ended_since.strftime('%Y-%m-%dT%H:%M:%SZ')}')"
    )
    with rpc_errors_named():
        executions = [execution async for execution in client.list_workflows(query)]
    room = asyncio.Semaphore(_READ_AT_ONCE)

    async def referred_to(workflow_id: str, run_id: str) -> frozenset[str]:
        async with room:
            return await _hashes_of(client, store, workflow_id, run_id)

    found = await asyncio.gather(*[referred_to(execution.id, execution.run_id) for execution in executions])
    return LivingRuns(
        ids=frozenset(execution.id for execution in executions if execution.workflow_type == "Research"),
        hashes=frozenset().union(*found),
    )


async def _hashes_of(client: Client, store: TextStore, workflow_id: str, run_id: str) -> frozenset[str]:
    """Hashes of texts in a history, and in those of its values that the store keeps."""
    hashes: set[str] = set()
    with rpc_errors_named(workflow_id):
        async for event in client.get_workflow_handle(workflow_id, run_id=run_id).fetch_history_events():
            written = event.SerializeToString()
            named = hashes_in(written.decode("latin-1"))
            hashes |= named
            for sha256 in named if _KEPT_ELSEWHERE in written else ():
                hashes |= await _hashes_in_text(store, sha256)
    return frozenset(hashes)


async def _hashes_in_text(store: TextStore, sha256: str) -> frozenset[str]:
    try:
        return hashes_in(await store.get(sha256))
    except NotFound:
        return frozenset()
