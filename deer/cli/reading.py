"""What a run is like now: from the run itself, else from its saved record, else from what Temporal knows."""

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from deer.cli.exits import CALL
from deer.cli.handles import RunHandle, Standing, no_such_run
from deer.errors import InvalidInput, NoServer, NotFound, Refused
from deer.flow import RunState
from deer.models import Phase, RunStatus, RunUsage, TextRef
from deer.ports import RECORDS, STATES, TextStore

_CLOSING_SECONDS = 20.0
LOST = "Temporal does not know this run any more, so it does not go on; it is shown as it was saved last."
NO_RECORD = "The record of this run is not in the store: is DEER_STORE the directory that its worker uses?"


async def read_status(run: RunHandle, store: TextStore, *, asks_worker: bool = True) -> RunStatus:
    """The status of a run with whole texts, whatever still answers.

    `asks_worker`: False where nobody can answer a query, so that nobody waits for it.
    Raises NotFound for a run that neither Temporal nor the store knows, and NoServer when Temporal does not answer.
    """
    record = await read_record(store, run.id)
    try:
        standing = await run.standing()
    except NotFound:
        if record is None:
            raise no_such_run(run.id) from None
        return record if record.phase.is_end else _as_lost(record)
    if not standing.is_open:
        return _as_closed(record, standing)
    silence = "No worker is at work on this run."
    if asks_worker:
        try:
            return await _filled(await run.status(), await run.references(), store)
        except (NoServer, Refused) as error:
            silence = _sentence(standing.trouble or str(error))
    return _as_last_seen(record, standing, silence)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


async def read_record(store: TextStore, run_id: str) -> RunStatus | None:
    """The record that a run saved last, at work, at a stop or at its end; None when there is none that can be read."""
    try:
        saved = await store.read_entry(RECORDS + run_id)
        return None if saved is None else RunStatus.model_validate_json(saved)
    except (InvalidInput, ValidationError):  # a name that no entry can have, or a record of another version
        return None


async def read_state(store: TextStore, run_id: str) -> RunState | None:
    """All that a run knew when it saved its record; None when there is nothing that can be read."""
    try:
        saved = await store.read_entry(STATES + run_id)
        return None if saved is None else RunState.model_validate_json(saved)
    except (InvalidInput, ValidationError):
        return None


async def wait_until_closed(run: RunHandle) -> None:
    """Give a run that announced its end the moment that Temporal needs to close it."""
    pauses = [0.05, 0.1, *[0.2] * round(_CLOSING_SECONDS / 0.2)]
    for pause in pauses:
        if not (await run.standing()).is_open:
            return
        await asyncio.sleep(pause)


async def _filled(status: RunStatus, references: Mapping[str, TextRef], store: TextStore) -> RunStatus:
    """Put the whole texts where the run showed previews. A text that the store lost stays a preview, with a notice."""
    if not references:
        return status
    tree = status.model_dump(mode="json", by_alias=True)
    lost = []
    for path, reference in references.items():
        try:
            _put(tree, path, await store.get(reference.sha256))
        except NotFound:
            lost.append(path)
    if lost:
        tree["notices"].append(f"Shown in part, since the store does not have the whole text: {', '.join(lost)}.")
    return RunStatus.model_validate(tree)


def _put(tree: dict[str, Any], path: str, text: str) -> None:  # the status as JSON
    """Set what a path names; in a list a part is an item's id or its position. A path that leads nowhere is skipped."""
    *way, last = path.split(".")
    place: Any = tree  # a mapping or a list, at each turn
    for part in way:
        place = _item(place, part)
    if isinstance(place, dict) and last in place:
        place[last] = text
    elif isinstance(place, list) and last.isdecimal() and int(last) < len(place):
        place[int(last)] = text


def _item(place: Any, part: str) -> Any:  # a part of the status as JSON
    if isinstance(place, dict):
        return place.get(part)
    if isinstance(place, list):
        by_id = next((item for item in place if isinstance(item, dict) and item.get("id") == part), None)
        return by_id or (place[int(part)] if part.isdecimal() and int(part) < len(place) else None)
    return None


def _as_lost(record: RunStatus) -> RunStatus:
    """A run that had not ended when it was saved, and that Temporal does not know."""
    return record.model_copy(update={"notices": (*record.notices, LOST)})


def _as_closed(record: RunStatus | None, standing: Standing) -> RunStatus:
    if record is not None and record.phase.is_end:
        return record
    known = record or _known_to_temporal(standing)
    reason = standing.ended_by or known.reason
    notices = known.notices if record else (*known.notices, NO_RECORD)
    return known.model_copy(update={"phase": standing.phase, "reason": reason, "notices": notices})


def _as_last_seen(record: RunStatus | None, standing: Standing, silence: str) -> RunStatus:
    known = record or _known_to_temporal(standing)
    what = (
        "Shown as it was saved last."
        if record
        else f"Shown from what Temporal knows of it; more is known once it goes on: {CALL} follow {standing.id}."
    )
    changed: dict[str, object] = {"notices": (*known.notices, f"{silence} {what}")}
    if known.phase is not standing.phase:
        changed |= {"phase": standing.phase, "reason": None}
    return known.model_copy(update=changed)


def _known_to_temporal(standing: Standing) -> RunStatus:
    return RunStatus(
        id=standing.id,
        phase=standing.phase if not standing.ended_by else Phase.FAILED,
        reason=standing.ended_by,
        question=standing.question,
        locale=None,
        round=0,
        max_rounds=0,
        plan=None,
        sources=(),
        handoffs=(),
        usage=RunUsage(),
        notices=(),
        report=None,
        answer=None,
    )
