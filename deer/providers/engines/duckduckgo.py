"""Search by DuckDuckGo, without a key.

DuckDuckGo has no interface for programs. The library `ddgs` reads its pages as a browser does, which works until
DuckDuckGo takes the browser for a program: that engine is for beginnings, and as the last of several.
"""

import asyncio
import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, Protocol

from deer.errors import ExtraMissing, FailureKind, ServiceError
from deer.models import Hit
from deer.ports import SearchQuery, SearchResults
from deer.providers.complaints import words_of
from deer.providers.engines.pace import OutOfTurn, Pace
from deer.providers.engines.queries import language_of, with_sites
from deer.providers.engines.results import found, hit_of

INTERVAL = timedelta(milliseconds=1500)
AT_ONCE = 1

_NAME = "the search engine DuckDuckGo"
_REGIONS = {"en": "us-en", "zh": "cn-zh", "ja": "jp-jp", "ko": "kr-kr", "pt": "br-pt"}
_TOO_OFTEN = re.compile(r"\b(?:202|403|429)\b|ratelimit", re.IGNORECASE)
_NOTHING = "No results found"

Rows = Sequence[dict[str, Any]]  # what the library reads out of pages


class Library(Protocol):
    """The part of `ddgs.DDGS` that is used. Its calls block."""

    def text(self, query: str, **options: Any) -> Rows:
        """Pages: `href`, `title`, `body`."""
        ...

    def news(self, query: str, **options: Any) -> Rows:
        """News: `url`, `title`, `body`."""
        ...


class DuckDuckGoSearch:
    """Implements `deer.ports.SearchEngine` with a `ddgs.DDGS` of its own, or the one that is given.

    `timeout` bounds one search, waiting for a turn apart. Raises SettingsError when the library is not installed.
    """

    def __init__(self, timeout: timedelta, library: Library | None = None, pace: Pace | None = None) -> None:
        self._failures, made = _loaded(timeout)
        self._library = library or made
        self._seconds = timeout.total_seconds()
        self._pace = pace or Pace(INTERVAL, AT_ONCE)
        self._held: set[asyncio.Task[None]] = set()

    async def aclose(self) -> None:
        """Nothing stays open."""

    async def search(self, query: SearchQuery) -> SearchResults:
        look_up = self._library.news if query.topic == "news" else self._library.text
        options = {
            "max_results": max(query.max_results, 1),
            "region": _region(query),
            "timelimit": query.time_range[:1] or None,
            "backend": "duckduckgo",
        }
        try:
            async with AsyncExitStack() as turn:
                await turn.enter_async_context(self._pace.turn())
                asking = asyncio.ensure_future(asyncio.to_thread(look_up, with_sites(query), **options))
                self._hold(turn.pop_all(), asking)
            async with asyncio.timeout(self._seconds):
                rows = await asyncio.shield(asking)
        except TimeoutError:
            raise _failure(FailureKind.UNAVAILABLE, "did not answer in time") from None
        except OutOfTurn as full:
            raise _failure(FailureKind.RATE_LIMITED, "is asked as often as is polite already", wait=full.wait) from None
        except self._failures as error:
            raise _judged(error) from None
        return SearchResults(hits=found(map(_hit, rows)))

    def _hold(self, turn: AsyncExitStack, asking: asyncio.Future[Rows]) -> None:
        """Keep a turn until its thread has ended: nothing stops one, and DuckDuckGo counts it though nobody waits."""
        task = asyncio.create_task(_held_until_done(turn, asking))
        self._held.add(task)
        task.add_done_callback(self._held.discard)


async def _held_until_done(turn: AsyncExitStack, asking: asyncio.Future[Rows]) -> None:
    async with turn:
        await asyncio.wait([asking])


def _loaded(timeout: timedelta) -> tuple[type[Exception], Library]:
    """The base of the library's errors, and its client."""
    try:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException
    except ImportError:
        raise ExtraMissing("SEARCH_API=duckduckgo", "duckduckgo") from None
    return DDGSException, DDGS(timeout=int(timeout.total_seconds()))


def _region(query: SearchQuery) -> str:
    language = language_of(query)
    return _REGIONS.get(language, f"{language}-{language}" if language else "wt-wt")


def _hit(row: dict[str, Any]) -> Hit | None:
    return hit_of(row.get("href") or row.get("url"), row.get("title"), row.get("body"))


def _judged(error: Exception) -> ServiceError:
    """The library has one error for nearly everything, whose words tell what it was.

    That nothing was found it also says when DuckDuckGo shows a riddle instead of results: no answer to rely on.
    """
    if _NOTHING in str(error):
        happening = "showed no results, which it also does to programs that it does not want"
        return _failure(FailureKind.UNAVAILABLE, happening, max_attempts=2)
    kind = type(error).__name__
    if kind == "RatelimitException" or _TOO_OFTEN.search(str(error)):
        return _failure(FailureKind.RATE_LIMITED, "takes the search for a program's and refuses it for a while")
    if kind == "TimeoutException":
        return _failure(FailureKind.UNAVAILABLE, "did not answer in time")
    return _failure(FailureKind.UNAVAILABLE, f"cannot be read ({words_of(str(error))})")


def _failure(
    kind: FailureKind, happening: str, *, wait: timedelta | None = None, max_attempts: int | None = None
) -> ServiceError:
    return ServiceError(f"{_NAME} {happening}", kind, retryable=True, retry_after=wait, max_attempts=max_attempts)
