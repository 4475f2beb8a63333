"""Reading pages and documents, each address of a run once."""

import hashlib
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel
from temporalio import activity

from activities.failures import translated
from activities.heartbeats import beating
from deer.answers import AnsweredOnce
from deer.errors import FailureKind, ServiceError
from deer.evidence import belongs_to, normalised_address
from deer.models import (
    MAX_TITLE_CHARS,
    SHOWN_PAGE_CHARS,
    SUMMARY_CHARS,
    FoundSource,
    PagePart,
    PageView,
    ReadReply,
    ReadRequest,
    TextRef,
)
from deer.ports import ANSWERS, DocumentSearch, PageReader, TextStore, store_text

MAX_ADDRESS_CHARS = 4_000
"""What a tool call may ask for; where a redirect leads to a longer one, it would travel with every mention."""
MAX_WANTED_CHARS = 2_000
"""More words than this say no better which parts of a page matter."""


class _Reading(BaseModel):
    """What came of reading an address, as the run keeps it: a page, or why there is none and will be none."""

    source: FoundSource | None = None
    refusal: str = ""


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
        """Read an address; its text goes to the store. In one run the same address is fetched once.

        That holds for what cannot be read too, unless a later try may help.
        """
        key = hashlib.sha256(normalised_address(request.url).encode()).hexdigest()
        entry = f"{ANSWERS}{request.run_id}/pages/{key}"
        asker = f"{activity.info().workflow_run_id}/{activity.info().activity_id}"
        async with beating():
            with translated():
                _refuse_domain(request.url, request)
                reading, was_asked = await self._answers.get(entry, _Reading, asker, lambda: self._read(request.url))
                if reading.source is None:
                    raise ServiceError(reading.refusal, FailureKind.UNREADABLE)
                _refuse_domain(reading.source.url, request)  # a redirect may have led elsewhere
                view = await self._view(reading.source, request.wanted[:MAX_WANTED_CHARS])
                return ReadReply(source=reading.source, was_paid=was_asked, view=view)

    async def _read(self, url: str) -> _Reading:
        is_document = url.startswith("doc:")
        try:
            page = await (self._documents.read(url) if is_document else self._reader.read(url))
        except ServiceError as error:
            if error.retryable or error.kind is not FailureKind.UNREADABLE:
                raise
            return _Reading(refusal=str(error))
        if len(page.url) > MAX_ADDRESS_CHARS:
            return _Reading(refusal=f"it leads to an address of {len(page.url)} characters")
        return _Reading(
            source=FoundSource(
                url=page.url,
                title=page.title[:MAX_TITLE_CHARS],
                summary=page.text[:SUMMARY_CHARS],
                text=await store_text(self._store, page.text),
                read=True,
                author=page.author,
                published=page.published,
                cut=page.cut,
            )
        )

    async def _view(self, source: FoundSource, wanted: str) -> PageView:
        """What is shown of a page: the whole, or the parts that matter for what is wanted."""
        shown = PageView(author=source.author, published=source.published, was_cut=source.cut)
        if not isinstance(source.text, TextRef) or source.text.chars <= SHOWN_PAGE_CHARS:
            return shown
        text = await self._store.get(source.text.sha256)
        try:
            parts = tuple(await self._reader.find_parts(text, source.title, wanted, SHOWN_PAGE_CHARS))
        except ServiceError:  # the beginning is better than nothing
            parts = (PagePart(start=0, end=SHOWN_PAGE_CHARS),)
        return shown.model_copy(update={"parts": parts})


def _refuse_domain(url: str, request: ReadRequest) -> None:
    if url.startswith("doc:"):
        return
    host = (urlsplit(url).hostname or "").lower()
    if any(belongs_to(host, domain) for domain in request.denied_domains):
        raise ServiceError(f"{host} is on this run's list of denied domains", FailureKind.ADDRESS_REFUSED)
    if request.allowed_domains and not any(belongs_to(host, domain) for domain in request.allowed_domains):
        raise ServiceError(f"{host} is not on this run's list of allowed domains", FailureKind.ADDRESS_REFUSED)
