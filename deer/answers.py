"""What was paid for is paid for once: each request of a run is answered once, and no answer is lost for want of a disk.

The outside world answers a request the first time, the store ever after.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel, ValidationError

from deer.errors import ServiceError
from deer.ports import TextStore

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
R = TypeVar("R")


PATIENCE_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Pauses between tries to keep what was paid for: half a minute, since a retry of the call would pay again."""


class InsistentStore:
    """A TextStore that tries again for a while before it gives up to keep something, whatever the trouble is."""

    def __init__(self, store: TextStore, pauses: Sequence[float] = PATIENCE_SECONDS) -> None:
        """`pauses` are seconds, one before each further try."""
        self._store = store
        self._pauses = pauses

    async def require_writable(self) -> None:
        await self._store.require_writable()

    async def put(self, text: str) -> str:
        return await self._insist(lambda: self._store.put(text))

    async def get(self, sha256: str) -> str:
        return await self._store.get(sha256)

    async def write_entry(self, name: str, text: str) -> None:
        await self._insist(lambda: self._store.write_entry(name, text))

    async def read_entry(self, name: str) -> str | None:
        return await self._store.read_entry(name)

    async def entry_names(self, prefix: str) -> Sequence[str]:
        return await self._store.entry_names(prefix)

    async def _insist(self, keep: Callable[[], Awaitable[T]]) -> T:
        for pause in self._pauses:
            try:
                return await keep()
            except ServiceError:
                await asyncio.sleep(pause)
        return await keep()


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
            await self._store.require_writable()  # before anything is paid for that could not be kept
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


class UnkeptReplies(Generic[R]):
    """Replies that were paid for and could not be kept, for when the same is asked again in this process.

    They are lost with the process. The oldest make room for new ones.
    """

    def __init__(self, most: int = 200) -> None:
        self._most = most
        self._replies: dict[str, R] = {}

    async def get(self, request: str, ask: Callable[[], Awaitable[R]]) -> R:
        """The reply to a request: the one that could not be kept, else a new one. Raises what `ask` raises."""
        known = self._replies.pop(request, None)
        return await ask() if known is None else known

    @contextmanager
    def unless_kept(self, request: str, reply: R) -> Iterator[None]:
        """Remember the reply to a request when the block, which keeps it, ends with a ServiceError."""
        try:
            yield
        except ServiceError:
            while len(self._replies) >= self._most:
                del self._replies[next(iter(self._replies))]
            self._replies[request] = reply
            raise
