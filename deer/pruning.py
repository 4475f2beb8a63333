"""Cleaning a store of what runs left that ended long ago.

What goes are records, states and answers of such runs, and texts that nothing refers to. What refers to a text holds
its hash: an entry that stays, or the history of a run that goes on or ended lately. Ages are those of the store:
whatever is put or written again is young, so that a run which begins meanwhile, and puts what it needs, loses nothing.
"""

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import ValidationError

from deer.models import Model, RunStatus
from deer.ports import ANSWERS, RECORDS, STATES, Kept, PrunableStore

SHORTEST_AGE = timedelta(hours=1)
"""A text may be as old before the history of its run tells of it: a call lasts ten minutes, its worker may die."""

_HASH = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


@dataclass(frozen=True)
class LivingRuns:
    """What must stay: the ids of runs that go on or ended lately, and the hashes of the texts that they refer to."""

    ids: frozenset[str]
    hashes: frozenset[str]


class Pruned(Model):
    """What was removed, or would be. `size_bytes` is that of all of it; `living_runs` were left alone."""

    records: int = 0
    answers: int = 0
    texts: int = 0
    size_bytes: int = 0
    living_runs: int = 0


def hashes_in(text: str) -> frozenset[str]:
    """Everything in a text that may be the hash of another one."""
    return frozenset(_HASH.findall(text))


async def prune(
    store: PrunableStore,
    unchanged_since: datetime,
    living_runs: Callable[[], Awaitable[LivingRuns]],
    *,
    removes: bool,
) -> Pruned:
    """Remove what nobody has changed since a moment, and needs; without `removes` only say what that would be.

    `living_runs` is asked after the store was looked through: a run that begins later has put what it uses since.
    Raises ServiceError, and what `living_runs` raises, before anything is removed.
    """
    entries, texts = await store.entries(""), await store.texts()
    living = await living_runs()
    going = await _going(store, entries, unchanged_since, living.ids)
    gone = {entry.name for entry in going}
    needed = set(living.hashes)
    for entry in entries:
        if entry.name not in gone:
            needed |= hashes_in(await store.read_entry(entry.name) or "")
    unneeded = [text for text in texts if text.name not in needed and text.changed_at <= unchanged_since]
    if removes:
        going = [entry for entry in going if await store.remove_entry(entry.name, unchanged_since)]
        unneeded = [text for text in unneeded if await store.remove_text(text.name, unchanged_since)]
    return Pruned(
        records=sum(entry.name.startswith(RECORDS) for entry in going),
        answers=sum(entry.name.startswith(ANSWERS) for entry in going),
        texts=len(unneeded),
        size_bytes=sum(kept.size_bytes for kept in (*going, *unneeded)),
        living_runs=len(living.ids),
    )


async def _going(
    store: PrunableStore, entries: Iterable[Kept], unchanged_since: datetime, living: frozenset[str]
) -> list[Kept]:
    """Records of runs that ended, and states and answers of runs whose record does not stay; old, of no living run."""
    old = [entry for entry in entries if entry.changed_at <= unchanged_since and _run_of(entry.name) not in living]
    records = [entry for entry in old if entry.name.startswith(RECORDS) and await _tells_an_end(store, entry.name)]
    ended = {_run_of(entry.name) for entry in records}
    recorded = {_run_of(entry.name) for entry in entries if entry.name.startswith(RECORDS)}
    beside = [
        entry
        for entry in old
        if entry.name.startswith((STATES, ANSWERS))
        and (_run_of(entry.name) in ended or _run_of(entry.name) not in recorded)
    ]
    return [*records, *beside]


def _run_of(name: str) -> str:
    if name.startswith(ANSWERS):
        return "/".join(name.removeprefix(ANSWERS).split("/")[:-2])  # answered/<run>/<kind>/<request>
    return name.removeprefix(RECORDS).removeprefix(STATES)


async def _tells_an_end(store: PrunableStore, record: str) -> bool:
    """Whether a run had ended when it was recorded. One that had not may go on with another server."""
    try:
        return RunStatus.model_validate_json(await store.read_entry(record) or "").phase.is_end
    except ValidationError:
        return False
