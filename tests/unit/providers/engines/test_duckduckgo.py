"""DuckDuckGo through the library that reads its pages."""

import sys
import threading
from datetime import timedelta
from typing import Any

import pytest
from ddgs import DDGS
from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

from deer.errors import FailureKind, ServiceError, SettingsError
from deer.models import Hit
from deer.ports import SearchQuery
from deer.providers.engines.duckduckgo import DuckDuckGoSearch, Library, Rows
from deer.providers.engines.pace import Pace
from tests.unit.providers.engines.opened import QUERY
from tests.unit.providers.web_server import Reply, WebServer, always


class Scripted:
    """A library that answers or fails as told, and remembers what it was asked."""

    def __init__(self, outcome: Rows | Exception) -> None:
        self._outcome = outcome
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        self.threads: set[int] = set()

    def text(self, query: str, **options: Any) -> Rows:
        return self._answer("text", query, options)

    def news(self, query: str, **options: Any) -> Rows:
        return self._answer("news", query, options)

    def _answer(self, what: str, query: str, options: dict[str, Any]) -> Rows:
        self.asked.append((what, query, options))
        self.threads.add(threading.get_ident())
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


def engine_with(library: Library) -> DuckDuckGoSearch:
    return DuckDuckGoSearch(timedelta(seconds=2), library, Pace())


async def test_pages_and_news_are_read() -> None:
    """The library is asked in a thread of its own, with domains, age and region; rows become hits."""
    library = Scripted([{"href": "https://a.org/", "title": "T", "body": "B"}, {"title": "no address"}])
    results = await engine_with(library).search(QUERY)
    assert results.hits == (Hit(url="https://a.org/", title="T", content="B"),)
    assert threading.get_ident() not in library.threads
    news = SearchQuery(
        text="x", max_results=2, topic="news", time_range="week", denied_domains=("c.org",), locale="zh-CN"
    )
    await engine_with(library).search(news)
    assert library.asked == [
        ("text", "heat pumps", {"max_results": 5, "region": "wt-wt", "timelimit": None, "backend": "duckduckgo"}),
        ("news", "x -site:c.org", {"max_results": 2, "region": "cn-zh", "timelimit": "w", "backend": "duckduckgo"}),
    ]


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (RatelimitException("202"), FailureKind.RATE_LIMITED, "refuses it for a while"),
        (DDGSException("HTTP 403 Ratelimit"), FailureKind.RATE_LIMITED, "refuses it for a while"),
        (TimeoutException("timed out"), FailureKind.UNAVAILABLE, "in time"),
        (DDGSException("RequestError: odd"), FailureKind.UNAVAILABLE, "odd"),
    ],
)
async def test_failures_have_their_kinds(error: Exception, kind: FailureKind, told: str) -> None:
    """What the library raises becomes a kind that may pass."""
    with pytest.raises(ServiceError, match=told) as caught:
        await engine_with(Scripted(error)).search(QUERY)
    assert (caught.value.kind, caught.value.retryable) == (kind, True)


async def test_nothing_found_is_not_relied_on() -> None:
    """The library finds nothing also where DuckDuckGo shows it a riddle, so that counts as a failure, tried twice."""
    with pytest.raises(ServiceError, match="showed no results") as caught:
        await engine_with(Scripted(DDGSException("No results found."))).search(QUERY)
    assert (caught.value.retryable, caught.value.max_attempts) == (True, 2)


class Stuck(Scripted):
    """A library that does not answer before `free` is set."""

    def __init__(self) -> None:
        super().__init__([{"href": "https://a.org/", "title": "T", "body": "B"}])
        self.free = threading.Event()

    def text(self, query: str, **options: Any) -> Rows:
        rows = super().text(query, **options)
        self.free.wait(timeout=10)
        return rows


async def test_a_search_that_takes_too_long_keeps_its_place() -> None:
    """Whoever waits is told in time, but no other search begins while the library is still at work on the last one."""
    library = Stuck()
    engine = DuckDuckGoSearch(timedelta(seconds=0.1), library, Pace(at_once=1, patience=timedelta(seconds=0.2)))
    try:
        with pytest.raises(ServiceError, match="did not answer in time") as caught:
            await engine.search(QUERY)
        assert (caught.value.kind, caught.value.retryable) == (FailureKind.UNAVAILABLE, True)
        with pytest.raises(ServiceError, match="as often as is polite"):
            await engine.search(QUERY)
        assert len(library.asked) == 1
    finally:
        library.free.set()
    assert (await engine.search(QUERY)).hits[0].title == "T"


async def test_the_library_itself_fails_like_that() -> None:
    """The real library, sent through a proxy on loopback that refuses, ends in a failure that may pass."""
    async with WebServer(always(Reply(502))) as proxy:
        engine = engine_with(DDGS(proxy=proxy.url, timeout=2))
        with pytest.raises(ServiceError, match="DuckDuckGo") as caught:
            await engine.search(QUERY)
        assert proxy.hits > 0
    assert (caught.value.kind, caught.value.retryable) == (FailureKind.UNAVAILABLE, True)


def test_without_the_library_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library is not installed, the message says how to get it."""
    monkeypatch.setitem(sys.modules, "ddgs", None)
    with pytest.raises(SettingsError, match=r"extra `duckduckgo`.*make setup EXTRAS=duckduckgo"):
        DuckDuckGoSearch(timedelta(seconds=2))
