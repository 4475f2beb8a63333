"""What each engine is asked, and what becomes of its results. Tavily has tests of its own."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from deer.errors import ServiceError
from deer.models import Hit
from deer.ports import SearchQuery
from deer.providers.engines.wikipedia import WikipediaSearch
from tests.unit.providers.engines.opened import ENGINES, KEY, QUERY, opened
from tests.unit.providers.web_server import Asked, Reply, WebServer, always

FULL = SearchQuery(
    text="heat pumps",
    max_results=3,
    topic="news",
    allowed_domains=("a.org", "b.org"),
    denied_domains=("c.org",),
    time_range="month",
    locale="zh-CN",
)
SITES = "heat pumps (site:a.org OR site:b.org) -site:c.org"


async def asked_of(name: str, query: SearchQuery) -> Asked:
    """The request that a search becomes."""
    async with opened(name, always(ENGINES[name].nothing)) as (engine, server):
        await engine.search(query)
    (asked,) = server.asked
    return asked


async def hits_of(name: str, body: dict[str, Any] | str, query: SearchQuery = QUERY) -> tuple[Hit, ...]:
    """The hits of an answer, with the server's address taken out."""
    async with opened(name, always(Reply(body=body))) as (engine, server):
        found = await engine.search(query)
        return tuple(hit.model_copy(update={"url": hit.url.replace(server.url, "")}) for hit in found.hits)


def parameters(asked: Asked) -> dict[str, str]:
    """The query string of a request."""
    return {name: values[0] for name, values in parse_qs(urlsplit(asked.target).query).items()}


async def test_brave_is_asked_for_pages_and_for_news() -> None:
    """Brave gets words with domains as operators, the number and the age; its key stands in a header only."""
    asked = await asked_of("brave", FULL)
    assert urlsplit(asked.target).path == "/news/search"
    assert parameters(asked) == {"q": SITES, "count": "3", "freshness": "pm"}
    assert asked.headers["x-subscription-token"] == KEY
    asked = await asked_of("brave", QUERY)
    assert asked.target == "/web/search?q=heat+pumps&count=5"
    many = parameters(await asked_of("brave", FULL.model_copy(update={"text": "a " * 90, "max_results": 99})))
    assert len(many["q"].split()) == 50
    assert many["q"].endswith("a (site:a.org OR site:b.org) -site:c.org")
    assert many["count"] == "20"


async def test_domains_with_endless_names_are_left_to_the_sorting_of_results() -> None:
    """The words of a query are not given up for the sake of operators, and nothing exceeds 400 characters."""
    domains = tuple(f"{letter * 60}.org" for letter in "abcdef")
    query = SearchQuery(text="heat pumps " * 90, max_results=3, allowed_domains=domains)
    sent = parameters(await asked_of("brave", query))["q"]
    assert "site:" not in sent
    query = query.model_copy(update={"allowed_domains": domains[:2], "text": "字" * 900})
    sent = parameters(await asked_of("searxng", query))["q"]
    assert sent.endswith(f"site:{domains[1]})")
    assert len(sent) == 400


async def test_braves_results_are_read() -> None:
    """Descriptions lose their marks, and further snippets are part of the text."""
    item = {
        "title": "Heat <strong>pumps</strong> &amp; more",
        "url": "https://a.org/",
        "description": "A <strong>heat pump</strong> moves heat.",
        "extra_snippets": ["It costs 5 &lt; 9.", None],
    }
    expected = (
        Hit(url="https://a.org/", title="Heat pumps & more", content="A heat pump moves heat.\n\nIt costs 5 < 9."),
    )
    assert await hits_of("brave", {"web": {"results": [item, None, {"title": "no address"}]}}) == expected
    assert await hits_of("brave", {"results": [item]}, FULL) == expected
    assert await hits_of("brave", {"type": "search", "query": {"original": "x"}}) == ()


async def test_serper_is_asked_and_read() -> None:
    """Serper gets JSON with language and age and the key in a header; links and snippets become hits."""
    asked = await asked_of("serper", FULL)
    assert (asked.method, asked.target, asked.headers["x-api-key"]) == ("POST", "/news", KEY)
    assert asked.json == {"q": SITES, "num": 3, "hl": "zh", "tbs": "qdr:m"}
    asked = await asked_of("serper", QUERY)
    assert (asked.target, asked.json) == ("/search", {"q": "heat pumps", "num": 5})
    body = {"organic": [{"title": "T", "link": "https://a.org/", "snippet": "S", "position": 1}, {"title": "no link"}]}
    assert await hits_of("serper", body) == (Hit(url="https://a.org/", title="T", content="S"),)


async def test_searxng_is_asked_and_read() -> None:
    """SearXNG is asked for JSON, by category, language and age; some of its engines may be silent."""
    asked = await asked_of("searxng", FULL)
    assert urlsplit(asked.target).path == "/search"
    assert parameters(asked) == {
        "q": SITES, "format": "json", "categories": "news", "language": "zh", "time_range": "month",
    }  # fmt: skip
    assert "language" not in parameters(await asked_of("searxng", QUERY))
    found = {"url": "https://a.org/", "title": "T", "content": "C", "score": 4, "engine": "bing"}
    body = {"results": [found], "unresponsive_engines": [["google", "timeout"]]}
    assert await hits_of("searxng", body) == (Hit(url="https://a.org/", title="T", content="C", score=4.0),)


async def test_wikipedia_is_asked_and_read() -> None:
    """Wikipedia gets a name to know the program by; keys become addresses, excerpts lose their marks."""
    asked = await asked_of("wikipedia", FULL)
    assert asked.target == "/w/rest.php/v1/search/page?q=heat+pumps&limit=3"
    assert asked.headers["user-agent"].startswith("deer-temporal/")
    page = {
        "id": 1,
        "key": "Heat_pump/2?",
        "title": "Heat pump",
        "excerpt": 'A <span class="searchmatch">heat</span> pump moves heat',
        "description": "machine",
    }
    (hit,) = await hits_of("wikipedia", {"pages": [page, {"title": "no key"}, None]})
    assert hit == Hit(url="/wiki/Heat_pump/2%3F", title="Heat pump", content="machine\n\nA heat pump moves heat")


@pytest.mark.parametrize(
    ("locale", "language"),
    [("zh-CN", "zh"), ("pt_BR", "pt"), ("", "en"), ("en-US", "en"), ("x/../y", "en"), ("evil.test#", "en")],
)
async def test_wikipedia_is_asked_in_the_language_of_the_run(locale: str, language: str) -> None:
    """The language of the locale picks the Wikipedia; what is no language cannot pick a host."""
    async with WebServer(always(ENGINES["wikipedia"].nothing)) as server:
        engine = WikipediaSearch(timedelta(seconds=5), f"{server.url}/{{language}}")
        await engine.search(SearchQuery(text="x", max_results=1, locale=locale))
        await engine.aclose()
    assert server.asked[0].target.startswith(f"/{language}/w/rest.php")


FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>ArXiv Query</title>
<entry><id>http://arxiv.org/abs/2101.00001v2</id><title>On heat
  pumps</title><summary>  We measure
 heat pumps. </summary><published>2021-01-01T00:00:00Z</published></entry>
<entry><title>No id</title></entry></feed>"""


async def test_arxiv_is_asked_and_read() -> None:
    """Few words must all stand in a paper, of many the best matches count; abstracts become the text."""
    assert parameters(await asked_of("arxiv", QUERY))["search_query"] == "all:heat AND all:pumps"
    question = SearchQuery(text="What is the cost of heat-pump noise in cold towns?", max_results=3)
    asked = parameters(await asked_of("arxiv", question))
    assert asked["search_query"] == "all:cost OR all:heat-pump OR all:noise OR all:cold OR all:towns"
    assert asked["max_results"] == "3"
    assert await hits_of("arxiv", FEED) == (
        Hit(url="https://arxiv.org/abs/2101.00001v2", title="On heat pumps", content="We measure heat pumps."),
    )


async def test_arxivs_feed_opens_nothing(tmp_path: Path) -> None:
    """Entities of a hostile feed are not looked up, and one that unfolds without end is no answer."""
    secret = tmp_path / "secret"
    secret.write_text("canary")
    body = FEED.partition("?>\n")[2].replace("We measure", "&e2; We measure")
    hostile = f'<!DOCTYPE feed [<!ENTITY e2 SYSTEM "{secret.as_uri()}">]>{body}'
    (hit,) = await hits_of("arxiv", hostile)
    assert "canary" not in hit.content
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 100}">' for n in range(1, 9))
    with pytest.raises(ServiceError, match="cannot be used"):
        await hits_of("arxiv", f'<!DOCTYPE feed [<!ENTITY e0 "lol">{bomb}]>{body}'.replace("&e2;", "&e8;"))
