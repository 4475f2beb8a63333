"""Search by a SearXNG instance."""

from collections.abc import Mapping
from datetime import timedelta

from deer.errors import FailureKind
from deer.models import Hit
from deer.ports import SearchQuery, SearchResults
from deer.providers.engines.pace import Pace
from deer.providers.engines.queries import language_of, with_sites
from deer.providers.engines.results import found, hit_of
from deer.providers.engines.service import Access, Answer, Refusal, SearchService

INTERVAL = timedelta(milliseconds=500)
"""The engines behind an instance block it when it asks them too fast."""
AT_ONCE = 4


class SearxngSearch:
    """Implements `deer.ports.SearchEngine`. `address` is that of the instance, without `/search`."""

    def __init__(self, address: str, timeout: timedelta, pace: Pace | None = None) -> None:
        access = Access(name="SearXNG", address=address, address_setting="SEARX_HOST")
        self._service = SearchService(access, timeout, pace or Pace(INTERVAL, AT_ONCE), _judged)

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        await self._service.aclose()

    async def search(self, query: SearchQuery) -> SearchResults:
        parameters = {
            "q": with_sites(query),
            "format": "json",
            "categories": "news" if query.topic == "news" else "general",
            "language": language_of(query),
            "time_range": query.time_range,
        }
        answer = await self._service.get("/search", {name: value for name, value in parameters.items() if value})
        parsed = answer.parsed
        hits = found(map(_hit, self._service.items(parsed, "results")))
        silent = _silent_engines(parsed)
        if silent and not hits:
            happening = f"had no answer from any engine behind it ({', '.join(silent)})"
            raise self._service.refused(Refusal(FailureKind.UNAVAILABLE, happening))
        return SearchResults(hits=hits)


def _hit(item: object) -> Hit | None:
    if not isinstance(item, Mapping):
        return None
    return hit_of(item.get("url"), item.get("title"), item.get("content"), score=item.get("score"))


def _silent_engines(parsed: object) -> list[str]:
    """Names of the engines that did not answer the instance, each of which comes with its reason."""
    listed = parsed.get("unresponsive_engines") if isinstance(parsed, Mapping) else None
    pairs = listed if isinstance(listed, list) else []
    return [": ".join(map(str, pair)) for pair in pairs if isinstance(pair, list)][:5]


def _judged(answer: Answer) -> Refusal | None:
    """403 is SearXNG's answer to a format that an instance does not offer, which is so of JSON by default."""
    if answer.status == 403:
        remedy = "; add json to search.formats in the settings.yml of the instance"
        return Refusal(FailureKind.REJECTED, "does not answer in JSON", remedy)
    return None
