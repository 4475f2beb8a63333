"""Web search by Tavily."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from deer.models import Hit
from deer.ports import SearchQuery
from deer.providers.engines.fallback import WebSearch
from deer.providers.engines.results import MAX_CONTENT_CHARS, SearchRules
from deer.providers.engines.tavily import TavilySearch
from tests.unit.providers.web_server import Asked, Reply, WebServer, always

KEY = "tvly-canary/9c1d+search"
QUERY = SearchQuery(text="heat pumps", max_results=5)


def results(*items: Any) -> Reply:
    return Reply(body={"query": "x", "results": list(items), "response_time": 0.1, "request_id": "r"})


async def asked_of(*queries: SearchQuery, raw_content: bool = False) -> list[Asked]:
    """The requests that searches become."""
    async with WebServer(always(results())) as server:
        engine = TavilySearch(KEY, server.url, timedelta(seconds=5), raw_content=raw_content)
        for query in queries:
            await engine.search(query)
        await engine.aclose()
    return server.asked


async def hits_of(answer: Reply, query: SearchQuery = QUERY, rules: SearchRules | None = None) -> Sequence[Hit]:
    """What a run gets of an answer."""
    async with WebServer(always(answer)) as server:
        engine = TavilySearch(KEY, server.url, timedelta(seconds=5))
        found = await WebSearch([("tavily", engine)], rules).search(query)
        await engine.aclose()
    return found.hits


async def test_a_search_passes_on_all_it_is_told() -> None:
    """Words, number, topic, depth, domains, age and key reach Tavily; what is empty is left out."""
    query = SearchQuery(
        text="heat pumps",
        max_results=3,
        topic="news",
        depth="basic",
        allowed_domains=("a.org",),
        denied_domains=("b.org",),
        time_range="week",
    )
    full, plain = await asked_of(query, QUERY)
    assert (full.target, full.headers["authorization"]) == ("/search", f"Bearer {KEY}")
    assert full.json == {
        "query": "heat pumps",
        "search_depth": "basic",
        "topic": "news",
        "max_results": 3,
        "include_domains": ["a.org"],
        "exclude_domains": ["b.org"],
        "time_range": "week",
    }
    assert set(plain.json) == {"query", "search_depth", "topic", "max_results"}


async def test_an_own_service_is_sent_no_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key none is sent, although Tavily's client looks for one in the environment; a path is kept."""
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    async with WebServer(always(results())) as server:
        engine = TavilySearch(None, f"{server.url}/own", timedelta(seconds=5))
        await engine.search(QUERY)
        await engine.aclose()
    (asked,) = server.asked
    assert asked.target == "/own/search"
    assert "authorization" not in asked.headers


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("word " * 180, ("word " * 80).rstrip()),
        ("字" * 900, "字" * 400),
        ("x" * 399 + "e\u0301" + "x" * 9, "x" * 399),
        ("x" * 398 + "👩\u200d🔬 and more", "x" * 398),
        ("x" * 399 + "👍🏽" + "x" * 9, "x" * 399),
        ("two\nlines\0 \ud83d", "two lines \ufffd"),
        ("y" * 400, "y" * 400),
    ],
    ids=["words", "chinese", "accent", "joined emoji", "skin tone", "unsendable", "exactly"],
)
async def test_long_queries_are_cut_where_a_reader_would(text: str, sent: str) -> None:
    """No query exceeds 400 characters; the cut is between words, or else between whole characters."""
    (asked,) = await asked_of(SearchQuery(text=text, max_results=5))
    assert asked.json["query"] == sent


async def test_the_text_of_pages_comes_with_the_hits_where_it_is_wanted() -> None:
    """Raw content is asked for by setting; it follows the excerpt, which stays what a model is shown first."""
    (asked,) = await asked_of(QUERY, raw_content=True)
    assert asked.json["include_raw_content"] is True
    page = {"url": "https://a.org/", "title": "A", "content": "The excerpt.", "raw_content": "# The whole page"}
    (hit,) = await hits_of(results(page))
    assert hit.content == "The excerpt.\n\n# The whole page"


async def test_weak_hits_are_left_out_where_a_threshold_is_set() -> None:
    """Hits scored below the threshold go, those without a score stay."""
    items = [{"url": f"https://a.org/{score}", "score": score} for score in (0.9, 0.2, None)]
    hits = await hits_of(results(*items), rules=SearchRules(min_score=0.5))
    assert [hit.score for hit in hits] == [0.9, None]


async def test_results_become_hits_in_order() -> None:
    """Address, title, content, score and date of a result are kept, best first, at most as many as asked for."""
    items = [
        {
            "url": f"https://a.org/{n}",
            "title": f"T{n}",
            "content": f"C{n}",
            "score": 0.9,
            "published_date": "2026-01-02",
        }
        for n in range(4)
    ]
    hits = await hits_of(results(*items), SearchQuery(text="x", max_results=2))
    assert hits == tuple(Hit(url=f"https://a.org/{n}", title=f"T{n}", content=f"C{n}", score=0.9) for n in range(2))


async def test_results_with_holes_are_tolerated() -> None:
    """Null and missing fields are empty, a missing title is the address, and what has no web address is dropped."""
    hits = await hits_of(
        results(
            {"url": "https://a.org/only"},
            {"url": "https://a.org/null", "title": None, "content": None, "score": None, "raw_content": None},
            {"url": "https://a.org/odd", "title": 7, "content": ["x"], "score": "high"},
            {"url": "https://a.org/one", "score": 1},
            {"title": "no address", "content": "x"},
            {"url": None},
            {"url": "javascript:alert(1)"},
            {"url": ""},
            "text",
            None,
        )
    )
    assert [(hit.url, hit.title, hit.content, hit.score) for hit in hits] == [
        ("https://a.org/only", "https://a.org/only", "", None),
        ("https://a.org/null", "https://a.org/null", "", None),
        ("https://a.org/odd", "https://a.org/odd", "", None),
        ("https://a.org/one", "https://a.org/one", "", 1.0),
    ]
    assert await hits_of(Reply(body={"results": None})) == ()
    assert await hits_of(results()) == ()


async def test_one_page_under_several_addresses_is_one_hit() -> None:
    """Scheme, slash, fragment and tracking make no other page; other parameters do."""
    addresses = ["http://ex.test/a", "https://ex.test/a/", "https://ex.test/a?utm_source=x", "https://ex.test/a#s2"]
    addresses += ["https://ex.test/a?id=1", "https://ex.test/a?id=2"]
    hits = await hits_of(results(*({"url": address} for address in addresses)), SearchQuery(text="x", max_results=9))
    assert [hit.url for hit in hits] == [addresses[0], *addresses[4:]]


async def test_content_is_cleaned_and_bounded() -> None:
    """Control characters, lone surrogates, direction marks, files and endless text go, written escapes stay."""
    (hit,) = await hits_of(
        results(
            {
                "url": "https://a.org/",
                "title": "A\0\nB",
                "content": "a\0b\x07 \ud83d \u202edlrow \\u0000 data:image/png;base64,iVBORw0KGgo= "
                + "QUJD" * 100
                + " end",
            }
        )
    )
    assert hit.title == "A B"
    assert hit.content == "ab \ufffd dlrow \\u0000 […] […] end"
    (hit,) = await hits_of(results({"url": "https://a.org/", "content": "word " * 50_000}))
    assert len(hit.content) == MAX_CONTENT_CHARS
    assert hit.content.endswith("…")
