"""Search in Wikipedia, in the language of the run."""

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import quote

from deer.models import Hit
from deer.ports import SearchQuery, SearchResults
from deer.providers.engines.pace import Pace
from deer.providers.engines.queries import language_of, shortened
from deer.providers.engines.results import found, hit_of, without_markup
from deer.providers.engines.service import Access, SearchService

ADDRESS = "https://{language}.wikipedia.org"
MAX_QUERY_CHARS = 300
"""MediaWiki refuses longer ones."""
MAX_RESULTS = 20


class WikipediaSearch:
    """Implements `deer.ports.SearchEngine`. `address` may have `{language}` in it; None is Wikipedia itself."""

    def __init__(self, timeout: timedelta, address: str | None = None) -> None:
        self._address = address or ADDRESS
        self._timeout = timeout
        self._pace = Pace(at_once=1)  # Wikimedia asks for one request after the other
        self._services: dict[str, SearchService] = {}

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        for service in self._services.values():
            await service.aclose()

    async def search(self, query: SearchQuery) -> SearchResults:
        language = language_of(query) or "en"
        address = self._address.replace("{language}", language)
        service = self._services.get(address)
        if service is None:
            access = Access(name="Wikipedia", address=address)
            service = self._services[address] = SearchService(access, self._timeout, self._pace)
        parameters = {
            "q": shortened(query.text, MAX_QUERY_CHARS),
            "limit": str(min(max(query.max_results, 1), MAX_RESULTS)),
        }
        answer = await service.get("/w/rest.php/v1/search/page", parameters)
        return SearchResults(hits=found(_hit(item, address) for item in service.items(answer.parsed, "pages")))


def _hit(item: object, address: str) -> Hit | None:
    key = item.get("key") if isinstance(item, Mapping) else None
    if not isinstance(item, Mapping) or not isinstance(key, str) or not key:
        return None
    url = f"{address}/wiki/{quote(key, safe='/:(),')}"
    return hit_of(url, item.get("title"), item.get("description"), without_markup(item.get("excerpt")))
