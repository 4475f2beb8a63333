"""Web search by Tavily."""

from collections.abc import Mapping
from datetime import timedelta

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
    """Implements `deer.ports.SearchEngine`.

    `key` None: of an own service in Tavily's place. `raw_content`: hits come with the whole text of their pages, which
    quotes can then be checked against without reading the page; some answers become slower by it.
    """

    def __init__(self, key: str | None, address: str | None, timeout: timedelta, *, raw_content: bool = False) -> None:
        access = Access(
            name="Tavily",
            address=address or ADDRESS,
            key_setting="TAVILY_API_KEY",
            address_setting="TAVILY_BASE_URL",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            secrets=(key,) if key else (),
        )
        self._service = SearchService(access, timeout, judge=_judged)
        self._raw_content = raw_content

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        await self._service.aclose()

    async def search(self, query: SearchQuery) -> SearchResults:
        body: dict[str, object] = {
            "query": shortened(query.text),
            "search_depth": query.depth,  # the port's words are Tavily's
            "topic": query.topic,
            "max_results": min(max(query.max_results, 1), MAX_RESULTS),
            "include_domains": list(query.allowed_domains),
            "exclude_domains": list(query.denied_domains),
            "time_range": query.time_range,
            "include_raw_content": self._raw_content,
        }
        answer = await self._service.post("/search", {name: value for name, value in body.items() if value})
        return SearchResults(hits=found(map(_hit, self._service.items(answer.parsed, "results"))))


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
