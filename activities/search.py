"""Searches: the web engines and the collections of documents, each query of a run answered once."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from temporalio import activity

from activities.failures import translated
from activities.heartbeats import beating
from deer.answers import AnsweredOnce
from deer.errors import FailureKind, ServiceError
from deer.models import MAX_TITLE_CHARS, SUMMARY_CHARS, FoundSource, Hit, SearchReply, SearchRequest
from deer.ports import ANSWERS, DocumentSearch, SearchEngine, SearchQuery, TextStore, store_text
from deer.wording import word

MAX_ADDRESS_CHARS = 2_000
"""A longer address is no page that a reader would open, and would fill the history with every mention."""


class SearchActivities:
    """Looking for sources."""

    def __init__(
        self,
        engine: SearchEngine | None,
        documents: DocumentSearch,
        store: TextStore,
        *,
        default_documents: tuple[str, ...] = (),
    ) -> None:
        """`engine` None: no web search here. `default_documents` are searched by runs that name none."""
        self._engine = engine
        self._documents = documents
        self._store = store
        self._default_documents = default_documents
        self._answers = AnsweredOnce(store)

    @property
    def all(self) -> list[Callable[..., Any]]:
        """The activities, for registration with a worker."""
        return [self.search_web]

    @activity.defn
    async def search_web(self, request: SearchRequest) -> SearchReply:
        """Search once; the same request in the same run is answered from the store, without being paid for."""
        entry = _entry_name(request)
        asker = f"{activity.info().workflow_run_id}/{activity.info().activity_id}"
        async with beating():
            with translated():
                reply, was_asked = await self._answers.get(entry, SearchReply, asker, lambda: self._search(request))
                return reply.model_copy(update={"was_paid": was_asked})

    async def _search(self, request: SearchRequest) -> SearchReply:
        query = SearchQuery(
            text=request.query,
            max_results=request.max_results,
            topic=request.topic,
            depth=request.depth,
            allowed_domains=request.allowed_domains,
            denied_domains=request.denied_domains,
            locale=request.locale,
        )
        hits: list[Hit] = []
        notices: list[str] = []
        collections = request.documents or self._default_documents
        if collections:
            hits.extend(await self._documents.search(collections, query))
        if self._engine is not None and request.web:
            try:
                found = await self._engine.search(query)
            except ServiceError as error:
                may_pass = error.retryable and activity.info().attempt == 1
                if may_pass or not hits:
                    raise
                notices.append(word("documents_only", request.locale, reason=error))
            else:
                hits.extend(found.hits)
                notices.extend(found.notices)
        elif not collections:
            raise ServiceError("no search is set up for this run", FailureKind.REJECTED)
        return SearchReply(sources=await self._found(hits), was_paid=True, notices=tuple(notices))

    async def _found(self, hits: Sequence[Hit]) -> tuple[FoundSource, ...]:
        usable = [hit for hit in hits if 0 < len(hit.url) <= MAX_ADDRESS_CHARS]
        return tuple(await asyncio.gather(*[self._found_source(hit) for hit in usable]))

    async def _found_source(self, hit: Hit) -> FoundSource:
        """The summary travels in history; a longer text is stored, so that quotes from it can be checked."""
        is_longer = len(hit.content) > SUMMARY_CHARS
        return FoundSource(
            url=hit.url,
            title=(hit.title or hit.url)[:MAX_TITLE_CHARS],
            summary=hit.content[:SUMMARY_CHARS],
            score=hit.score,
            text=await store_text(self._store, hit.content) if is_longer else None,
        )


def _entry_name(request: SearchRequest) -> str:
    """Where the answer to a request is kept; letter case and white space make no other query."""
    same = request.model_copy(update={"query": " ".join(request.query.casefold().split())})
    key = hashlib.sha256(same.model_dump_json(exclude={"run_id"}).encode()).hexdigest()
    return f"{ANSWERS}{request.run_id}/searches/{key}"
