"""Which engine stands behind which name of SEARCH_API."""

from datetime import timedelta
from typing import Protocol

from deer.errors import SettingsError
from deer.ports import SearchEngine
from deer.providers.endpoints import checked_key


class OpenEngine(SearchEngine, Protocol):
    """An engine with connections to close."""

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        ...


def open_engine(
    name: str, key: str | None, address: str | None, timeout: timedelta, *, raw_content: bool = False
) -> OpenEngine:
    """The engine of a name. `key` and `address` None: what the engine has of its own.

    Raises SettingsError for a key that cannot be sent, and where what the engine needs is not installed.
    """
    # Each loads what it needs itself: a worker has one or two of them.
    match name:
        case "tavily":
            from deer.providers.engines.tavily import TavilySearch

            return TavilySearch(_checked(key, "TAVILY_API_KEY"), address, timeout, raw_content=raw_content)
        case "brave":
            from deer.providers.engines.brave import BraveSearch

            return BraveSearch(_checked(key, "BRAVE_SEARCH_API_KEY"), address, timeout)
        case "serper":
            from deer.providers.engines.serper import SerperSearch

            return SerperSearch(_checked(key, "SERPER_API_KEY"), address, timeout)
        case "searxng" if address is not None:
            from deer.providers.engines.searxng import SearxngSearch

            return SearxngSearch(address, timeout)
        case "arxiv":
            from deer.providers.engines.arxiv import ArxivSearch

            return ArxivSearch(timeout)
        case "wikipedia":
            from deer.providers.engines.wikipedia import WikipediaSearch

            return WikipediaSearch(timeout)
        case "duckduckgo":
            from deer.providers.engines.duckduckgo import DuckDuckGoSearch

            return DuckDuckGoSearch(timeout)
    raise SettingsError(f"SEARCH_API={name} cannot be opened with what is set")


def _checked(key: str | None, setting: str) -> str | None:
    return None if key is None else checked_key(key, setting)
