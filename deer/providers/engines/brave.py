"""Web search by Brave."""

import re
from collections.abc import Mapping
from datetime import timedelta

from deer.errors import FailureKind
from deer.models import Hit
from deer.ports import SearchQuery, SearchResults
from deer.providers.complaints import bounded_wait, retry_after
from deer.providers.engines.pace import Pace
from deer.providers.engines.queries import with_sites
from deer.providers.engines.results import found, hit_of, without_markup
from deer.providers.engines.service import Access, Answer, Refusal, SearchService

ADDRESS = "https://api.search.brave.com/res/v1"
MAX_RESULTS = 20
MAX_QUERY_WORDS = 50
"""Both are Brave's own upper bounds."""
FIRST_INTERVAL = timedelta(seconds=1)
"""What the smallest plan allows; answers say what a key's plan does."""

_FRESHNESS = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_COUNT = re.compile(r"[0-9]{1,18}")
_KEY_CODES = frozenset({"SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_NOT_FOUND"})


class BraveSearch:
    """Implements `deer.ports.SearchEngine`. `key` None: of an own service in Brave's place."""

    def __init__(self, key: str | None, address: str | None, timeout: timedelta, pace: Pace | None = None) -> None:
        access = Access(
            name="Brave",
            address=address or ADDRESS,
            key_setting="BRAVE_SEARCH_API_KEY",
            address_setting="BRAVE_SEARCH_BASE_URL",
            headers={"Accept": "application/json", **({"X-Subscription-Token": key} if key else {})},
            secrets=(key,) if key else (),
        )
        self._service = SearchService(access, timeout, pace or Pace(FIRST_INTERVAL), _judged)

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        await self._service.aclose()

    async def search(self, query: SearchQuery) -> SearchResults:
        parameters = {
            "q": with_sites(query, MAX_QUERY_WORDS),
            "count": str(min(max(query.max_results, 1), MAX_RESULTS)),
            "freshness": _FRESHNESS.get(query.time_range, ""),
        }
        is_news = query.topic == "news"
        answer = await self._service.get(
            "/news/search" if is_news else "/web/search", {name: value for name, value in parameters.items() if value}
        )
        if (allowed := _numbers(answer, "x-ratelimit-limit")) and allowed[0] > 0:
            self._service.pace.set_interval(timedelta(seconds=1 / allowed[0]))
        path = ("results",) if is_news else ("web", "results")
        return SearchResults(hits=found(map(_hit, self._service.items(answer.parsed, *path))))


def _hit(item: object) -> Hit | None:
    if not isinstance(item, Mapping):
        return None
    extra = item.get("extra_snippets")
    texts = [item.get("description"), *(extra if isinstance(extra, list) else [])]
    return hit_of(item.get("url"), without_markup(item.get("title")), *map(without_markup, texts))


def _judged(answer: Answer) -> Refusal | None:
    """Brave answers 422 to a wrong key, and 429 to both a pace and a month's quota that are passed."""
    if answer.status == 422 and _code(answer) in _KEY_CODES:
        return Refusal(FailureKind.KEY_REFUSED, "refused the key", "; set a valid BRAVE_SEARCH_API_KEY")
    if answer.status != 429:
        return None
    limits, left = _numbers(answer, "x-ratelimit-limit"), _numbers(answer, "x-ratelimit-remaining")
    if len(limits) > 1 and len(left) > 1 and limits[-1] > 0 and left[-1] == 0:
        return Refusal(
            FailureKind.QUOTA_SPENT, "has no credit left, the month's quota is spent", "; raise it or use another key"
        )
    resets = _numbers(answer, "x-ratelimit-reset")
    wait = retry_after(answer.headers) or (bounded_wait(resets[0]) if resets else None)
    return Refusal(FailureKind.RATE_LIMITED, "is asked too often", wait=wait)


def _code(answer: Answer) -> object:
    parsed = answer.parsed
    error = parsed.get("error") if isinstance(parsed, Mapping) else None
    return error.get("code") if isinstance(error, Mapping) else None


def _numbers(answer: Answer, header: str) -> list[int]:
    """The numbers of a header, one for each window of time, the shortest first: `1, 15000` a second and a month."""
    parts = [part.strip() for part in answer.headers.get(header, "").split(",")]
    return [int(part) for part in parts if _COUNT.fullmatch(part)]
