"""Reading pages and documents, each address of a run once."""

import hashlib
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from temporalio import activity

from activities.failures import translated
from activities.heartbeats import beating
from deer.answers import AnsweredOnce
from deer.errors import FailureKind, ServiceError
from deer.evidence import normalised_address
from deer.models import MAX_TITLE_CHARS, SUMMARY_CHARS, FoundSource, ReadReply, ReadRequest
from deer.ports import ANSWERS, DocumentSearch, PageReader, TextStore, store_text

MAX_ADDRESS_CHARS = 4_000
"""What a tool call may ask for; where a redirect leads to a longer one, it would travel with every mention."""


class PageActivities:
    """Reading what a search found."""

    def __init__(self, reader: PageReader, documents: DocumentSearch, store: TextStore) -> None:
        self._reader = reader
        self._documents = documents
        self._store = store
        self._answers = AnsweredOnce(store)

    @property
    def all(self) -> list[Callable[..., Any]]:
        """The activities, for registration with a worker."""
        return [self.read_page]

    @activity.defn
    async def read_page(self, request: ReadRequest) -> ReadReply:
        """Read an address; its text goes to the store. The same address in the same run is fetched once."""
        key = hashlib.sha256(normalised_address(request.url).encode()).hexdigest()
        entry = f"{ANSWERS}{request.run_id}/pages/{key}"
        asker = f"{activity.info().workflow_run_id}/{activity.info().activity_id}"
        async with beating():
            with translated():
                _refuse_domain(request.url, request)
                source, was_asked = await self._answers.get(entry, FoundSource, asker, lambda: self._read(request.url))
                _refuse_domain(source.url, request)  # a redirect may have led elsewhere
                return ReadReply(source=source, was_paid=was_asked)

    async def _read(self, url: str) -> FoundSource:
        is_document = url.startswith("doc:")
        page = await (self._documents.read(url) if is_document else self._reader.read(url))
        if len(page.url) > MAX_ADDRESS_CHARS:
            raise ServiceError(f"it leads to an address of {len(page.url)} characters", FailureKind.UNREADABLE)
        return FoundSource(
            url=page.url,
            title=page.title[:MAX_TITLE_CHARS],
            summary=page.text[:SUMMARY_CHARS],
            text=await store_text(self._store, page.text),
            read=True,
        )


def _refuse_domain(url: str, request: ReadRequest) -> None:
    if url.startswith("doc:"):
        return
    host = (urlsplit(url).hostname or "").lower()
    if any(_belongs(host, domain) for domain in request.denied_domains):
        raise ServiceError(f"{host} is on this run's list of denied domains", FailureKind.ADDRESS_REFUSED)
    if request.allowed_domains and not any(_belongs(host, domain) for domain in request.allowed_domains):
        raise ServiceError(f"{host} is not on this run's list of allowed domains", FailureKind.ADDRESS_REFUSED)


def _belongs(host: str, domain: str) -> bool:
    domain = domain.lower().lstrip(".")
    return host == domain or host.endswith(f".{domain}")
