"""Several ways to read a page, of which the next is tried where one does not succeed."""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Protocol

from deer.errors import NEEDS_A_PERSON, FailureKind, ServiceError
from deer.models import Page, PagePart
from deer.ports import PageReader

ALONE_TIMEOUT = timedelta(seconds=30)
"""How long the only reader may take to fetch a page."""
SHARED_TIMEOUT = timedelta(seconds=20)
"""How long one of several may take to fetch a page."""
LOOK_UP_TIMEOUT = timedelta(seconds=5)
"""How long the look-up may take that checks an address before somebody else is told of it."""
PASSED_ON_WITHIN = timedelta(seconds=45)
"""An attempt older than this asks no further reader: with the whole time of one more, and that of finding the text,
it stays below the 90 s of the flow."""

_log = logging.getLogger(__name__)


class Reads(Protocol):
    """One way to read pages, as `PageReader.read` has it."""

    async def read(self, url: str) -> Page:
        """The readable text of a page."""
        ...


class FallbackReader:
    """Implements `PageReader` by several readers in order. Parts of long texts are found by `finder`.

    `clock` gives seconds.
    """

    def __init__(
        self, readers: Sequence[Reads], finder: PageReader, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._readers = readers
        self._finder = finder
        self._clock = clock

    async def read(self, url: str) -> Page:
        """The page by the first reader that has it. A closed address is closed for all readers.

        Raises the failure that may pass, if any, else the first that is about the page. One that only a person can
        mend is raised where no reader could say anything else; where another did, the log tells it.
        """
        failures: list[ServiceError] = []
        young_until = self._clock() + PASSED_ON_WITHIN.total_seconds()
        for reader in self._readers:
            if failures and self._clock() >= young_until:
                break
            try:
                page = await reader.read(url)
            except ServiceError as error:
                if error.kind is FailureKind.ADDRESS_REFUSED:
                    raise
                failures.append(error)
            else:
                _tell_passed_over(failures)
                return page
        told = min(failures, key=_rank)
        _tell_passed_over([failure for failure in failures if failure is not told])
        raise told

    async def find_parts(self, text: str, title: str, wanted: str, max_chars: int) -> Sequence[PagePart]:
        return await self._finder.find_parts(text, title, wanted, max_chars)


def _rank(failure: ServiceError) -> int:
    """What is told first: a failure that may pass, then one about the page, then one for a person."""
    if failure.retryable:
        return 0
    return 2 if failure.kind in NEEDS_A_PERSON else 1


def _tell_passed_over(failures: Sequence[ServiceError]) -> None:
    for failure in failures:
        if failure.kind in NEEDS_A_PERSON:
            _log.warning("a page reader was passed over: %s", failure)
