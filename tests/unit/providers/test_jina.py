"""Reading pages through Jina Reader, and several readers in order."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from deer.config import load_settings
from deer.errors import FailureKind, ServiceError
from deer.models import Page, PagePart
from deer.providers.jina import JinaReader
from deer.providers.network import OpenWeb
from deer.providers.page_fallback import (
    ALONE_TIMEOUT,
    LOOK_UP_TIMEOUT,
    PASSED_ON_WITHIN,
    SHARED_TIMEOUT,
    FallbackReader,
)
from deer.providers.pages import EXTRACTION_DEADLINE
from tests.unit.providers.web_server import Answerer, Json, Reply, WebServer, always
from worker import page_timeout
from workflows import policies

KEY = "jina_canary_5c1e"
PAGE = "https://page.example/a"
DATA: Json = {
    "title": "Heat pumps",
    "url": "https://page.example/final",
    "content": "The measured value is 30 percent.",
    "publishedTime": "2024-03-05T10:00:00Z",
}


def given(**fields: str) -> Reply:
    """An answer in which these fields differ."""
    return Reply(body={"code": 200, "data": {**DATA, **fields}})


async def resolve(host: str, port: int) -> list[str]:
    return ["93.184.215.14" if host == "page.example" else "10.0.0.5"]


@pytest.fixture
async def web() -> AsyncIterator[OpenWeb]:
    """A web in which every host is outside but one."""
    opened = OpenWeb(frozenset(), timedelta(seconds=5), resolve)
    yield opened
    await opened.aclose()


async def read(web: OpenWeb, answer: Answerer, url: str = PAGE, key: str | None = KEY) -> tuple[Page, WebServer]:
    async with WebServer(answer) as server:
        reader = JinaReader(key, server.url, web, timedelta(seconds=5), 100_000)
        try:
            return await reader.read(url), server
        finally:
            await reader.aclose()


async def failure(web: OpenWeb, reply: Reply) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        await read(web, always(reply))
    assert KEY not in str(caught.value)
    return caught.value


async def test_the_service_is_asked_for_the_page(web: OpenWeb) -> None:
    """The address goes in the body, the key in its header; title, text, final address and date come back."""
    page, server = await read(web, always(Reply(body={"code": 200, "data": DATA})))
    [asked] = server.asked
    assert (asked.method, asked.json) == ("POST", {"url": PAGE})
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert page == Page(
        url="https://page.example/final",
        title="Heat pumps",
        text="The measured value is 30 percent.",
        published="2024-03-05",
    )


async def test_without_a_key_none_is_sent(web: OpenWeb) -> None:
    """The service answers without a key too; one that is empty is a mistake elsewhere."""
    _, server = await read(web, always(Reply(body={"data": DATA})), key=None)
    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    "url", ["http://inside.example/", "http://127.0.0.1/", "file:///etc/passwd", "https://page.example:22/"]
)
async def test_the_service_is_told_of_no_inside_address(web: OpenWeb, url: str) -> None:
    """What may not be read from here is not asked for there either."""
    async with WebServer(always(Reply(body={"data": DATA}))) as server:
        reader = JinaReader(KEY, server.url, web, timedelta(seconds=5), 100_000)
        with pytest.raises(ServiceError) as caught:
            await reader.read(url)
        await reader.aclose()
        assert server.hits == 0
    assert caught.value.kind is FailureKind.ADDRESS_REFUSED


@pytest.mark.parametrize(
    ("reply", "kind", "retryable"),
    [
        (Reply(401, {"message": f"bad key {KEY}"}), FailureKind.KEY_REFUSED, False),
        (Reply(402, {"readableMessage": "InsufficientBalanceError"}), FailureKind.QUOTA_SPENT, False),
        (Reply(422, {"message": "Domain could not be resolved"}), FailureKind.UNREADABLE, False),
        (Reply(451, b"no"), FailureKind.UNREADABLE, False),
        (Reply(429, {}, {"Retry-After": "3"}), FailureKind.RATE_LIMITED, True),
        (Reply(503, b""), FailureKind.UNAVAILABLE, True),
        (Reply(200, b"<html>"), FailureKind.MALFORMED, True),
        (Reply(200, b"[" * 99_000), FailureKind.MALFORMED, True),
        (given(warning="Target URL returned error 404: Not Found"), FailureKind.UNREADABLE, False),
        (given(title="Just a moment...", content="Wait for it, please."), FailureKind.UNREADABLE, False),
        (given(content="x" * 200_000), FailureKind.UNREADABLE, False),
    ],
)
async def test_failures_are_named(web: OpenWeb, reply: Reply, kind: FailureKind, retryable: bool) -> None:
    """Keys, credit, limits, outages, pages that are none and answers that are too long each have their kind."""
    error = await failure(web, reply)
    assert (error.kind, error.retryable) == (kind, retryable)


async def test_one_clock_bounds_an_answer_that_drips(web: OpenWeb) -> None:
    """An answer that keeps coming and never ends is given up when its time is over."""

    async def dripping() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.02)

    async with WebServer(always(Reply(chunks=dripping()))) as server:
        reader = JinaReader(KEY, server.url, web, timedelta(seconds=0.15), 100_000)
        with pytest.raises(ServiceError, match=r"did not answer within 0\.15 s") as caught:
            await reader.read(PAGE)
        await reader.aclose()
    assert (caught.value.kind, caught.value.retryable) == (FailureKind.UNAVAILABLE, True)


class Answering:
    """A reader that gives a page or fails, and remembers that it was asked."""

    def __init__(self, answer: Page | ServiceError) -> None:
        self._answer = answer
        self.was_asked = False

    async def read(self, url: str) -> Page:
        self.was_asked = True
        if isinstance(self._answer, ServiceError):
            raise self._answer
        return self._answer

    async def find_parts(self, text: str, title: str, wanted: str, max_chars: int) -> Sequence[PagePart]:
        return (PagePart(start=0, end=max_chars),)


SECOND = Page(url=PAGE, title="T", text="from the second reader")


@pytest.mark.parametrize(
    ("kind", "asks_on"),
    [
        (FailureKind.UNREADABLE, True),
        (FailureKind.UNAVAILABLE, True),
        (FailureKind.KEY_REFUSED, True),
        (FailureKind.QUOTA_SPENT, True),
        (FailureKind.ADDRESS_REFUSED, False),
    ],
)
async def test_the_next_reader_is_asked_where_one_does_not_succeed(kind: FailureKind, asks_on: bool) -> None:
    """A page that one reader cannot read, or has no credit for, is read by the next; a closed address stays closed."""
    first, second = Answering(ServiceError("no", kind)), Answering(SECOND)
    reader = FallbackReader([first, second], first)
    if asks_on:
        assert await reader.read(PAGE) == SECOND
    else:
        with pytest.raises(ServiceError):
            await reader.read(PAGE)
    assert second.was_asked is asks_on
    assert await reader.find_parts("text", "", "", 3) == (PagePart(start=0, end=3),)


async def test_when_no_reader_succeeds_the_failure_that_may_pass_is_told() -> None:
    """A page that one refuses and another is too busy for may be read later."""
    refused = Answering(ServiceError("it is a picture", FailureKind.UNREADABLE))
    busy = Answering(ServiceError("too busy", FailureKind.RATE_LIMITED, retryable=True))
    with pytest.raises(ServiceError, match="too busy"):
        await FallbackReader([refused, busy], refused).read(PAGE)
    with pytest.raises(ServiceError, match="a picture"):
        await FallbackReader([refused, refused], refused).read(PAGE)


async def test_a_spent_key_is_told_only_where_no_other_reader_knows_better(caplog: pytest.LogCaptureFixture) -> None:
    """What another reader says about the page is the answer; the log, and without it the failure, tell of the key."""
    spent = Answering(ServiceError("no credit left", FailureKind.QUOTA_SPENT))
    gone = Answering(ServiceError("there is no such page", FailureKind.UNREADABLE))
    with pytest.raises(ServiceError, match="no such page"):
        await FallbackReader([spent, gone], gone).read(PAGE)
    assert [record.getMessage() for record in caplog.records] == ["a page reader was passed over: no credit left"]
    with pytest.raises(ServiceError, match="no credit left"):
        await FallbackReader([spent, spent], gone).read(PAGE)


async def test_no_further_reader_is_asked_late_in_an_attempt() -> None:
    """Where the first reader took the time of two, its failure is told at once instead of an attempt cut off."""
    now = 0.0

    class Slow:
        async def read(self, url: str) -> Page:
            nonlocal now
            now += PASSED_ON_WITHIN.total_seconds()
            raise ServiceError("too slow", FailureKind.UNAVAILABLE, retryable=True)

    second = Answering(SECOND)
    with pytest.raises(ServiceError, match="too slow"):
        await FallbackReader([Slow(), second], second, clock=lambda: now).read(PAGE)
    assert not second.was_asked


def test_the_readers_fit_into_an_attempt() -> None:
    """A reader that is asked as late as may be, or that is the only one, has its whole time before the flow ends it."""
    attempt = policies.PAGE["start_to_close_timeout"]
    assert attempt is not None
    assert attempt > PASSED_ON_WITHIN + LOOK_UP_TIMEOUT + SHARED_TIMEOUT + EXTRACTION_DEADLINE
    assert attempt > LOOK_UP_TIMEOUT + ALONE_TIMEOUT + EXTRACTION_DEADLINE


@pytest.mark.parametrize(("readers", "expected"), [("direct", 30), ("jina", 30), ("jina,direct", 20)])
def test_several_readers_share_the_time(tmp_path: Path, readers: str, expected: int) -> None:
    """A reader that another may stand in for has less time than one alone."""
    assert page_timeout(load_settings({"PAGE_READER": readers}, tmp_path)) == timedelta(seconds=expected)
