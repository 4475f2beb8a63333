"""Every engine that is reached over HTTP, opened at a server of the test, with an answer of its own shape."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from deer.ports import SearchQuery
from deer.providers.engines.arxiv import ArxivSearch
from deer.providers.engines.brave import BraveSearch
from deer.providers.engines.opening import OpenEngine
from deer.providers.engines.pace import Pace
from deer.providers.engines.searxng import SearxngSearch
from deer.providers.engines.serper import SerperSearch
from deer.providers.engines.tavily import TavilySearch
from deer.providers.engines.wikipedia import WikipediaSearch
from tests.unit.providers.web_server import Answerer, Reply, WebServer

KEY = "canary/9c1d+search"
QUERY = SearchQuery(text="heat pumps", max_results=5)
EMPTY_FEED = "<feed xmlns='http://www.w3.org/2005/Atom'></feed>"


@dataclass(frozen=True)
class Kind:
    """An engine: how it is opened at an address, and how it says that there is nothing.

    `key_setting` and `address_setting` are what its errors name, empty where there is nothing to set.
    """

    at: Callable[[str, timedelta], OpenEngine]
    nothing: Reply
    key_setting: str = ""
    address_setting: str = ""


ENGINES: Mapping[str, Kind] = {
    "tavily": Kind(
        lambda address, timeout: TavilySearch(KEY, address, timeout),
        Reply(body={"results": []}),
        "TAVILY_API_KEY",
        "TAVILY_BASE_URL",
    ),
    "brave": Kind(
        lambda address, timeout: BraveSearch(KEY, address, timeout, Pace()),
        Reply(body={"type": "search", "query": {}, "web": {"results": []}}),
        "BRAVE_SEARCH_API_KEY",
        "BRAVE_SEARCH_BASE_URL",
    ),
    "serper": Kind(
        lambda address, timeout: SerperSearch(KEY, address, timeout),
        Reply(body={"organic": [], "credits": 1}),
        "SERPER_API_KEY",
        "SERPER_BASE_URL",
    ),
    "searxng": Kind(
        lambda address, timeout: SearxngSearch(address, timeout, Pace()),
        Reply(body={"results": [], "unresponsive_engines": []}),
        address_setting="SEARX_HOST",
    ),
    "wikipedia": Kind(lambda address, timeout: WikipediaSearch(timeout, address), Reply(body={"pages": []})),
    "arxiv": Kind(lambda address, timeout: ArxivSearch(timeout, address, Pace()), Reply(body=EMPTY_FEED)),
}


@asynccontextmanager
async def opened(name: str, answer: Answerer, seconds: float = 5.0) -> AsyncIterator[tuple[OpenEngine, WebServer]]:
    """An engine and the server that answers it."""
    async with WebServer(answer) as server:
        engine = ENGINES[name].at(server.url, timedelta(seconds=seconds))
        try:
            yield engine, server
        finally:
            await engine.aclose()
