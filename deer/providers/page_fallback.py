"""Several ways to read a page, of which the next is tried where one does not succeed."""

from collections.abc import Sequence
from typing import Protocol

from deer.errors import NEEDS_A_PERSON, FailureKind, ServiceError
from deer.models import Page, PagePart
from deer.ports import PageReader

_FOR_ALL = NEEDS_A_PERSON | {FailureKind.ADDRESS_REFUSED}
"""What no other reader is to be asked after: a closed address is closed, and a key is to be mended."""


class Reads(Protocol):
    """One way to read pages, as `PageReader.read` has it."""

    async def read(self, url: str) -> Page:
        """The readable text of a page."""
        ...


class FallbackReader:
    """Implements `PageReader` by several readers in order. Parts of long texts are found by `finder`."""

    def __init__(self, readers: Sequence[Reads], finder: PageReader) -> None:
        self._readers = readers
        self._finder = finder

    async def read(self, url: str) -> Page:
        """The page by the first reader that has it. Raises the failure that may pass, if any, else the first."""
        failures: list[ServiceError] = []
        for reader in self._readers:
            try:
                return await reader.read(url)
            except ServiceError as error:
                if error.kind in _FOR_ALL:
                    raise
                failures.append(error)
        raise next((failure for failure in failures if failure.retryable), failures[0])

    async def find_parts(self, text: str, title: str, wanted: str, max_chars: int) -> Sequence[PagePart]:
        return await self._finder.find_parts(text, title, wanted, max_chars)
