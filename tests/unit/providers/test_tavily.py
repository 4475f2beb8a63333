"""Web search by Tavily."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from deer.errors import FailureKind, ServiceError, SettingsError
from deer.models import Hit
from deer.ports import SearchQuery
from deer.providers.tavily import MAX_CONTENT_CHARS, TavilySearch
from tests.unit.providers.web_server import Answerer, Reply, WebServer, always

KEY = "tvly-canary/9c1d+search"
QUERY = SearchQuery(text="heat pumps", max_results=5)


def results(*items: Any) -> Reply:
    return Reply(body={"query": "x", "results": list(items), "response_time": 0.1, "request_id": "r"})


@asynccontextmanager
async def tavily(answer: Answerer, seconds: float = 5.0) -> AsyncIterator[tuple[TavilySearch, WebServer]]:
    async with WebServer(answer) as server:
        engine = TavilySearch(KEY, server.url, timedelta(seconds=seconds))
        yield engine, server
        await engine.aclose()


async def hits_of(answer: Reply, query: SearchQuery = QUERY) -> Sequence[Hit]:
    async with tavily(always(answer)) as (engine, _):
        return await engine.search(query)


async def failure_of(answer: Reply) -> ServiceError:
    async with tavily(always(answer)) as (engine, server):
        with pytest.raises(ServiceError) as caught:
            await engine.search(QUERY)
        assert len(server.asked) == 1, "no retry storm"
    assert caught.value.__cause__ is None
    assert "\n" not in str(caught.value)
    return caught.value


async def test_a_search_passes_on_all_it_is_told() -> None:
    """Words, number, topic, depth, domains and key reach Tavily; empty domain lists are left out."""
    query = SearchQuery(
        text="heat pumps",
        max_results=3,
        topic="news",
        depth="basic",
        allowed_domains=("a.org",),
        denied_domains=("b.org",),
    )
    async with tavily(always(results())) as (engine, server):
        await engine.search(query)
        await engine.search(QUERY)
    assert server.asked[0].target == "/search"
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.asked[0].json == {
        "query": "heat pumps",
        "search_depth": "basic",
        "topic": "news",
        "max_results": 3,
        "include_domains": ["a.org"],
        "exclude_domains": ["b.org"],
    }
    assert set(server.asked[1].json) == {"query", "search_depth", "topic", "max_results"}


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
    async with tavily(always(results())) as (engine, server):
        await engine.search(SearchQuery(text=text, max_results=5))
    assert server.asked[0].json["query"] == sent


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


def detail(status: int, words: str = "Scripted words.", **headers: str) -> Reply:
    return Reply(status, {"detail": {"error": words}}, headers)


KINDS = [
    (detail(400), FailureKind.REJECTED, False),
    (detail(401), FailureKind.KEY_REFUSED, False),
    (detail(403), FailureKind.REJECTED, False),
    (detail(422), FailureKind.REJECTED, False),
    (detail(429), FailureKind.RATE_LIMITED, True),
    (detail(432), FailureKind.QUOTA_SPENT, False),
    (detail(433), FailureKind.QUOTA_SPENT, False),
    (detail(500), FailureKind.UNAVAILABLE, True),
    (Reply(502, "<html>bad gateway</html>"), FailureKind.UNAVAILABLE, True),
    (Reply(302, b"", {"Location": "http://elsewhere.test/"}), FailureKind.REJECTED, False),
    (Reply(200, "<html>hello</html>"), FailureKind.MALFORMED, True),
    (Reply(200, b"[]", {"Content-Type": "application/json"}), FailureKind.MALFORMED, True),
    (Reply(200, {"results": "none"}), FailureKind.MALFORMED, True),
]


@pytest.mark.parametrize(("answer", "kind", "retryable"), KINDS, ids=[f"{a.status}-{k.value}" for a, k, _ in KINDS])
async def test_every_failure_has_its_kind(answer: Reply, kind: FailureKind, retryable: bool) -> None:
    """Statuses and broken answers become the kind that says whether a retry or a person helps."""
    error = await failure_of(answer)
    assert (error.kind, error.retryable) == (kind, retryable)


async def test_a_spent_plan_is_named() -> None:
    """432 and 433 say which limit is reached, in words for the person who must raise it."""
    assert "the plan limit is reached" in str(await failure_of(detail(432)))
    assert "the pay-as-you-go limit is reached" in str(await failure_of(detail(433)))


async def test_the_wait_that_tavily_asks_for_is_kept() -> None:
    """Retry-After of a 429 becomes the time to wait."""
    assert (await failure_of(detail(429, **{"Retry-After": "7"}))).retry_after == timedelta(seconds=7)
    assert (await failure_of(detail(429))).retry_after is None


async def test_no_error_holds_the_key() -> None:
    """The key is taken out of Tavily's words, also URL-encoded."""
    error = await failure_of(detail(401, f"key {KEY} and tvly-canary%2F9c1d%2Bsearch are wrong"))
    assert "TAVILY_API_KEY" in str(error)
    assert "9c1d" not in f"{error!r} {error}"


async def test_silence_and_absence_are_unavailable() -> None:
    """No answer in time and no listener are Unavailable and may be retried."""
    quiet = asyncio.Event()

    async def never() -> AsyncIterator[bytes]:
        await quiet.wait()
        yield b""

    async with tavily(always(Reply(chunks=never())), seconds=0.2) as (engine, server):
        address = server.url
        with pytest.raises(ServiceError, match=r"did not answer within 0\.2 s") as late:
            await engine.search(QUERY)
        quiet.set()
    absent = TavilySearch(KEY, address, timedelta(seconds=2))
    with pytest.raises(ServiceError, match="cannot be reached") as gone:
        await absent.search(QUERY)
    await absent.aclose()
    for error in (late.value, gone.value):
        assert (error.kind, error.retryable) == (FailureKind.UNAVAILABLE, True)


@pytest.mark.parametrize("key", ["", "  ", "tvly-\u200bx"])
def test_a_missing_key_is_refused_at_once(key: str) -> None:
    """Without a usable key the client would search under other limits, so the setting is named instead."""
    with pytest.raises(SettingsError, match="TAVILY_API_KEY"):
        TavilySearch(key, None, timedelta(seconds=1))
