"""Each request of a run is answered once: by the outside world the first time, from the store ever after."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel

from deer.ports import TextStore

M = TypeVar("M", bound=BaseModel)


class AnsweredOnce:
    """Answers by entry name. Of several who ask the same at once in this process, one asks the outside world."""

    def __init__(self, store: TextStore) -> None:
        self._store = store
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def get(self, entry: str, kind: type[M], ask: Callable[[], Awaitable[M]]) -> tuple[M, bool]:
        """The answer, and whether it had to be asked for now. Raises what `ask` and the store raise."""
        lock = self._locks.setdefault(entry, asyncio.Lock())
        async with lock:
            if (known := await self._store.read_entry(entry)) is not None:
                return kind.model_validate_json(known), False
            answer = await ask()
            await self._store.write_entry(entry, answer.model_dump_json())
            return answer, True
