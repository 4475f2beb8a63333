"""Each request of a run is answered once: by the outside world the first time, from the store ever after."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel, ValidationError

from deer.errors import ServiceError
from deer.ports import TextStore

M = TypeVar("M", bound=BaseModel)


class _Kept(BaseModel):
    asker: str
    answer: dict[str, Any]  # of the kind that the caller of `get` names


class AnsweredOnce:
    """Answers by entry name. Of several who ask the same at once in this process, one asks the outside world."""

    def __init__(self, store: TextStore) -> None:
        self._store = store
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def get(self, entry: str, kind: type[M], asker: str, ask: Callable[[], Awaitable[M]]) -> tuple[M, bool]:
        """The answer, and whether it was asked for by this `asker`. Raises what `ask` and the store raise.

        A call that is made again after a crash has the same asker, so that what it paid for is counted.
        """
        lock = self._locks.setdefault(entry, asyncio.Lock())
        async with lock:
            if (kept := await self._kept(entry)) is not None:
                return kind.model_validate(kept.answer), kept.asker == asker
            answer = await ask()
            kept = _Kept(asker=asker, answer=answer.model_dump(mode="json"))
            with suppress(ServiceError):  # what was paid for is not thrown away because it cannot be kept
                await self._store.write_entry(entry, kept.model_dump_json())
            return answer, True

    async def _kept(self, entry: str) -> "_Kept | None":
        """The answer that was kept; one that cannot be read, as of an earlier version, counts as none."""
        known = await self._store.read_entry(entry)
        try:
            return None if known is None else _Kept.model_validate_json(known)
        except ValidationError:
            return None
