"""Web search by Tavily.

Importing this loads Tavily's client, which takes 0.2 seconds of CPU.
"""

from collections.abc import Mapping
from datetime import timedelta

import httpx
import tavily  # type: ignore[import-untyped]  # ships no types

from deer.errors import FailureKind
from deer.models import Hit
from deer.ports import SearchQuery, SearchResults
from deer.providers.engines.queries import shortened
from deer.providers.engines.results import found, hit_of
from deer.providers.engines.service import Access, Answer, Refusal, SearchService

ADDRESS = "https://api.tavily.com"
MAX_RESULTS = 20
"""Tavily's own upper bound."""


class TavilySearch:
    """Implements `deer.ports.SearchEngine` with `tavily-python`.

    The client writes the requests and reads the answers; a `SearchService` carries both, as the client by itself
    bounds neither the size of an answer nor the time of a slow one, and has one error for 403, 432 and 433.

    `key` None: of an own service in Tavily's place. `raw_content`: hits come with the whole text of their pages, which
    quotes can then be checked against without reading the page; some answers become slower by it.
    """

    def __init__(self, key: str | None, address: str | None, timeout: timedelta, *, raw_content: bool = False) -> None:
        access = Access(
            name="Tavily",
            address=address or ADDRESS,
            key_setting="TAVILY_API_KEY",
            address_setting="TAVILY_BASE_URL",
            secrets=(key,) if key else (),
        )
        self._service = SearchService(access, timeout, judge=_judged)
        self._http = httpx.AsyncClient(transport=_Carrier(self._service), trust_env=False)
        # Not None, which would have the client take a key from the environment.
        self._client = tavily.AsyncTavilyClient(key or "", client=self._http)
        self._raw_content = raw_content

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        await self._http.aclose()
        await self._service.aclose()

    async def search(self, query: SearchQuery) -> SearchResults:
        answer = await self._client.search(
            query=shortened(query.text),
            search_depth=query.depth or None,  # the port's words are Tavily's
            topic=query.topic or None,
            max_results=min(max(query.max_results, 1), MAX_RESULTS),
            include_domains=list(query.allowed_domains) or None,
            exclude_domains=list(query.denied_domains) or None,
            time_range=query.time_range or None,
            include_raw_content=self._raw_content or None,
        )
        return SearchResults(hits=found(map(_hit, self._service.items(answer, "results"))))


class _Carrier(httpx.AsyncBaseTransport):
    """Has the service send what the client wrote, to the service's own address.

    Only a 200 with a JSON object comes back: the client takes any other for granted. All else is raised as
    ServiceError, which passes through the client as it is.
    """

    def __init__(self, service: SearchService) -> None:
        self._service = service

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = {name: value for name, value in request.headers.items() if _is_of_the_message(name)}
        answer = await self._service.send(request.url.path, await request.aread(), headers)
        if not isinstance(answer.parsed, Mapping):
            raise self._service.malformed()
        return httpx.Response(answer.status, content=answer.body)


def _is_of_the_message(header: str) -> bool:
    """Whether a header is of Tavily's interface; those about the connection are for the service to write."""
    return header in ("authorization", "content-type") or header.startswith("x-")


def _hit(item: object) -> Hit | None:
    if not isinstance(item, Mapping):
        return None
    return hit_of(
        item.get("url"), item.get("title"), item.get("content"), item.get("raw_content"), score=item.get("score")
    )


def _judged(answer: Answer) -> Refusal | None:
    """432 and 433 are Tavily's own words for the limits of a plan; 403 is about the request, not the key."""
    if answer.status in (432, 433):
        which = "plan limit" if answer.status == 432 else "pay-as-you-go limit"
        happening = f"has no credit left, the {which} is reached"
        return Refusal(FailureKind.QUOTA_SPENT, happening, "; raise it or use another key")
    return Refusal(FailureKind.REJECTED, "rejected the search") if answer.status == 403 else None
