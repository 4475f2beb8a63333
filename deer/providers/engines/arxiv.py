"""Search for papers in arXiv."""

import re
from collections.abc import Iterator
from datetime import timedelta

from lxml import etree  # type: ignore[import-untyped]  # ships no types

from deer.errors import FailureKind
from deer.models import Hit
from deer.ports import SearchQuery, SearchResults
from deer.providers.engines.pace import Pace
from deer.providers.engines.queries import shortened
from deer.providers.engines.results import found, hit_of
from deer.providers.engines.service import Access, Answer, Refusal, SearchService
from deer.providers.plain_text import one_line
from deer.providers.terms import STOP_WORDS

ADDRESS = "https://export.arxiv.org"
INTERVAL = timedelta(seconds=3)
"""What arXiv asks of programs, with one connection at a time."""
MAX_RESULTS = 50
MAX_TERMS = 12
ALL_OF = 3
"""Up to so many words all must stand in a paper; of more, the best papers rarely have every one."""

_ATOM = "{http://www.w3.org/2005/Atom}"
_WORD = re.compile(r"\w+(?:-\w+)*")
_ERROR_IDS = "arxiv.org/api/errors"


class ArxivSearch:
    """Implements `deer.ports.SearchEngine`. A hit's text is the abstract. `address` None is arXiv itself."""

    def __init__(self, timeout: timedelta, address: str | None = None, pace: Pace | None = None) -> None:
        access = Access(name="arXiv", address=address or ADDRESS)
        self._service = SearchService(access, timeout, pace or Pace(INTERVAL, at_once=1), _judged)

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        await self._service.aclose()

    async def search(self, query: SearchQuery) -> SearchResults:
        expression = _expression(query)
        if not expression:
            return SearchResults(hits=())
        parameters = {
            "search_query": expression,
            "start": "0",
            "max_results": str(min(max(query.max_results, 1), MAX_RESULTS)),
            "sortBy": "relevance",
            "sortOrder": "descending",
        }
        answer = await self._service.get("/api/query", parameters)
        feed = _feed(answer)
        if feed is None:
            raise self._service.malformed()
        if complaint := _complaint(feed):
            raise self._service.refused(Refusal(FailureKind.REJECTED, "rejected the search"), complaint)
        return SearchResults(hits=found(_hits(feed)))


def _expression(query: SearchQuery) -> str:
    """A query in arXiv's own language; empty when no word of it says anything."""
    words = dict.fromkeys(_WORD.findall(shortened(query.text)))
    telling = [word for word in words if word.lower() not in STOP_WORDS][:MAX_TERMS]
    operator = " AND " if len(telling) <= ALL_OF else " OR "
    return operator.join(f"all:{word}" for word in telling)


def _feed(answer: Answer) -> etree._Element | None:
    """The Atom feed of an answer; None when it is none. Entities are not resolved, nor is anything loaded."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        feed = etree.fromstring(answer.body, parser)
    except etree.XMLSyntaxError:
        return None
    return feed if feed.tag == f"{_ATOM}feed" else None


def _hits(feed: etree._Element) -> Iterator[Hit | None]:
    for entry in feed.iterfind(f"{_ATOM}entry"):
        address = _text(entry, "id")
        # An abstract is broken into lines as in print.
        yield hit_of(re.sub(r"^http://", "https://", address), _text(entry, "title"), one_line(_text(entry, "summary")))


def _complaint(feed: etree._Element) -> str:
    """What arXiv says in place of papers, as the only entry of a feed; empty when it does not complain."""
    entry = feed.find(f"{_ATOM}entry")
    if entry is None or _ERROR_IDS not in _text(entry, "id"):
        return ""
    return _text(entry, "summary") or "without a reason"


def _judged(answer: Answer) -> Refusal | None:
    feed = _feed(answer) if answer.status == 400 else None
    complaint = _complaint(feed) if feed is not None else ""
    return Refusal(FailureKind.REJECTED, f"rejected the search ({one_line(complaint)[:150]})") if complaint else None


def _text(entry: etree._Element, name: str) -> str:
    return entry.findtext(f"{_ATOM}{name}") or ""
