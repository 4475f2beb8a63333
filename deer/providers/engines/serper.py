"""Google's results by Serper."""

from collections.abc import Mapping
from datetime import timedelta

from deer.errors import FailureKind
from deer.models import Hit
from deer.ports import SearchQuery, SearchResults
from deer.providers.engines.queries import language_of, with_sites
from deer.providers.engines.results import found, hit_of
from deer.providers.engines.service import Access, Answer, Refusal, SearchService

ADDRESS = "https://google.serper.dev"
MAX_RESULTS = 20
"""Above ten a search costs twice as much."""

_AGES = {"day": "qdr:d", "week": "qdr:w", "month": "qdr:m", "year": "qdr:y"}


class SerperSearch:
    """Implements `deer.ports.SearchEngine`. `key` None: of an own service in Serper's place."""

    def __init__(self, key: str | None, address: str | None, timeout: timedelta) -> None:
        access = Access(
            name="Serper",
            address=address or ADDRESS,
            key_setting="SERPER_API_KEY",
            address_setting="SERPER_BASE_URL",
            headers={"X-API-KEY": key} if key else {},
            secrets=(key,) if key else (),
        )
        self._service = SearchService(access, timeout, judge=_judged)

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        await self._service.aclose()

    async def search(self, query: SearchQuery) -> SearchResults:
        is_news = query.topic == "news"
        body: dict[str, object] = {
            "q": with_sites(query),
            "num": min(max(query.max_results, 1), MAX_RESULTS),
            "hl": language_of(query),
            "tbs": _AGES.get(query.time_range, ""),
        }
        answer = await self._service.post(
            "/news" if is_news else "/search", {name: value for name, value in body.items() if value}
        )
        items = self._service.items(answer.parsed, "news" if is_news else "organic")
        return SearchResults(hits=found(map(_hit, items)))


def _hit(item: object) -> Hit | None:
    return hit_of(item.get("link"), item.get("title"), item.get("snippet")) if isinstance(item, Mapping) else None


def _judged(answer: Answer) -> Refusal | None:
    """Serper answers 400 when there is no credit, which only its words tell from a bad request."""
    if answer.status == 400 and "credit" in answer.words.lower():
        return Refusal(FailureKind.QUOTA_SPENT, "has no credit left", "; buy some or use another key")
    return None
