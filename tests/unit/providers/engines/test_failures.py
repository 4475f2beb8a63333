"""How every engine over HTTP fails: the same kinds for the same troubles, in words that help, without a key."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from deer.errors import FailureKind, ServiceError
from deer.providers.engines.service import MAX_BODY_BYTES
from tests.unit.providers.engines.opened import ENGINES, KEY, QUERY, opened
from tests.unit.providers.web_server import Answerer, Reply, WebServer, always, in_turn

every_engine = pytest.mark.parametrize("name", ENGINES)
KEYED = [name for name, kind in ENGINES.items() if kind.key_setting]


async def failure_of(name: str, answer: Reply | Answerer, seconds: float = 5.0) -> ServiceError:
    """The error that an engine makes of an answer, after one request."""
    answerer = always(answer) if isinstance(answer, Reply) else answer
    async with opened(name, answerer, seconds) as (engine, server):
        with pytest.raises(ServiceError) as caught:
            await engine.search(QUERY)
        assert len(server.asked) == 1, "no retry storm"
    assert caught.value.__cause__ is None
    assert "\n" not in str(caught.value)
    return caught.value


STATUSES = [
    (400, FailureKind.REJECTED, False),
    (402, FailureKind.QUOTA_SPENT, False),
    (404, FailureKind.REJECTED, False),
    (408, FailureKind.UNAVAILABLE, True),
    (422, FailureKind.REJECTED, False),
    (429, FailureKind.RATE_LIMITED, True),
    (500, FailureKind.UNAVAILABLE, True),
    (503, FailureKind.UNAVAILABLE, True),
]


@every_engine
async def test_statuses_have_their_kinds(name: str) -> None:
    """A status becomes the kind that says whether a retry or a person helps."""
    for status, kind, retryable in STATUSES:
        error = await failure_of(name, Reply(status, "<html>some page</html>"))
        assert (error.kind, error.retryable) == (kind, retryable), status
        assert f"(HTTP {status})" in str(error)


@pytest.mark.parametrize("name", KEYED)
async def test_a_refused_key_names_its_setting_and_never_the_key(name: str) -> None:
    """The setting to mend is named; the key is taken out of the engine's words, URL-encoded too."""
    words = f"key {KEY} and canary%2F9c1d%2Bsearch are wrong"
    error = await failure_of(name, Reply(401, {"error": {"detail": words}, "detail": {"error": words}}))
    assert error.kind is FailureKind.KEY_REFUSED
    assert f"set a valid {ENGINES[name].key_setting}" in str(error)
    assert "9c1d" not in f"{error!r} {error}"


@every_engine
async def test_broken_answers_are_malformed(name: str) -> None:
    """A page, half an answer and another shape in place of results may be retried, and name the address to check."""
    for body in ("<html>hello</html>", '{"results": [', "[]", '{"results": 7, "web": {"results": 7}, "organic": 7}'):
        answer = '{"pages": 7}' if name == "wikipedia" and body.endswith("7}") else body
        error = await failure_of(name, Reply(body=answer))
        assert (error.kind, error.retryable) == (FailureKind.MALFORMED, True), body
        assert ENGINES[name].address_setting in str(error)


@every_engine
async def test_an_empty_answer_is_no_failure(name: str) -> None:
    """Nothing found is an answer."""
    async with opened(name, always(ENGINES[name].nothing)) as (engine, _):
        assert (await engine.search(QUERY)).hits == ()


@pytest.mark.parametrize("name", ["serper", "arxiv", "tavily"])
async def test_giant_answers_are_stopped(name: str) -> None:
    """An endless body, and one that unpacks to gigabytes, is cut off when it is larger than any answer."""
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b" " * 65_536

    error = await failure_of(name, Reply(chunks=endless()))
    assert (error.kind, error.retryable) == (FailureKind.MALFORMED, False)
    assert sent * 65_536 < 4 * MAX_BODY_BYTES
    bomb = Reply(body=gzip.compress(b" " * 2 * MAX_BODY_BYTES), headers={"Content-Encoding": "gzip"})
    assert "more than 5 MB" in str(await failure_of(name, bomb))


@every_engine
async def test_silence_and_absence_are_unavailable(name: str) -> None:
    """No answer in time, a dripping one, and no listener may be retried."""

    async def dripping() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.02)

    late = await failure_of(name, Reply(chunks=dripping()), seconds=0.15)
    assert "did not answer within 0.15 s" in str(late)
    async with WebServer(always(Reply())) as server:
        address = server.url
    absent = ENGINES[name].at(address, timedelta(seconds=2))
    with pytest.raises(ServiceError, match="cannot be reached") as gone:
        await absent.search(QUERY)
    await absent.aclose()
    for error in (late, gone.value):
        assert (error.kind, error.retryable) == (FailureKind.UNAVAILABLE, True)


@every_engine
async def test_an_engine_is_left_alone_as_long_as_it_asked(name: str) -> None:
    """After a 429 with Retry-After no search of the worker reaches the engine before that time."""
    busy = Reply(429, {"message": "slow down"}, {"Retry-After": "45"})
    async with opened(name, in_turn(busy, ENGINES[name].nothing)) as (engine, server):
        for _ in range(2):
            with pytest.raises(ServiceError) as caught:
                await engine.search(QUERY)
            assert caught.value.kind is FailureKind.RATE_LIMITED
            assert caught.value.retry_after is not None
            assert timedelta(seconds=44) < caught.value.retry_after <= timedelta(seconds=45)
        assert len(server.asked) == 1


@pytest.mark.parametrize("name", KEYED)
async def test_a_key_follows_no_redirect(name: str) -> None:
    """What sends the search elsewhere is a mistake in the address, which is named; nothing is sent there."""
    async with WebServer(always(ENGINES[name].nothing)) as other:
        error = await failure_of(name, Reply(302, b"", {"Location": f"{other.url}/search?k=v"}))
        assert other.hits == 0
        assert f"{other.url}/search; set {ENGINES[name].address_setting} to that" in str(error).replace(
            " (HTTP 302)", ""
        )
    assert error.kind is FailureKind.REJECTED


@pytest.mark.parametrize("name", ["serper", "tavily"])
async def test_proxies_of_the_environment_are_not_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches go where the settings say, whatever the environment has for other programs."""
    async with WebServer(always(Reply(502))) as proxy:
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "TAVILY_HTTP_PROXY"):
            monkeypatch.setenv(variable, proxy.url)
        async with opened(name, always(ENGINES[name].nothing)) as (engine, _):
            await engine.search(QUERY)
        assert proxy.hits == 0


@pytest.mark.parametrize(
    ("name", "answer", "kind", "told"),
    [
        ("tavily", Reply(432, {"detail": {"error": "Over plan."}}), FailureKind.QUOTA_SPENT, "the plan limit"),
        ("tavily", Reply(433, {"detail": {"error": "Over."}}), FailureKind.QUOTA_SPENT, "the pay-as-you-go limit"),
        ("tavily", Reply(403, {"detail": {"error": "Odd."}}), FailureKind.REJECTED, "Odd."),
        (
            "brave",
            Reply(422, {"type": "ErrorResponse", "error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "No."}}),
            FailureKind.KEY_REFUSED,
            "BRAVE_SEARCH_API_KEY",
        ),
        (
            "brave",
            Reply(429, {"error": {}}, {"X-RateLimit-Limit": "1, 2000", "X-RateLimit-Remaining": "1, 0"}),
            FailureKind.QUOTA_SPENT,
            "the month's quota is spent",
        ),
        (
            "brave",
            Reply(429, {"error": {}}, {"X-RateLimit-Limit": "50, 0", "X-RateLimit-Remaining": "0, 0"}),
            FailureKind.RATE_LIMITED,
            "asked too often",
        ),
        ("serper", Reply(403, {"message": "Unauthorized.", "statusCode": 403}), FailureKind.KEY_REFUSED, "Unauthor"),
        ("serper", Reply(400, {"message": "Not enough credits"}), FailureKind.QUOTA_SPENT, "Not enough credits"),
        ("searxng", Reply(403, "<html>Forbidden</html>"), FailureKind.REJECTED, "add json to search.formats"),
        (
            "searxng",
            Reply(body={"results": [], "unresponsive_engines": [["google", "access denied"], ["bing", "timeout"]]}),
            FailureKind.UNAVAILABLE,
            "google: access denied, bing: timeout",
        ),
        (
            "arxiv",
            Reply(
                400,
                "<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>http://arxiv.org/api/errors#max_results</id>"
                "<title>Error</title><summary>max_results must be an integer</summary></entry></feed>",
            ),
            FailureKind.REJECTED,
            "max_results must be an integer",
        ),
    ],
)
async def test_what_is_an_engines_own(name: str, answer: Reply, kind: FailureKind, told: str) -> None:
    """Answers that mean something else with one engine than with the others are understood as it means them."""
    error = await failure_of(name, answer)
    assert error.kind is kind
    assert told in str(error)


@pytest.mark.parametrize(("reset", "wait"), [("3, 900000", 3), ("1000000000000, 1", 120), ("9" * 5_000, None)])
async def test_brave_is_not_left_alone_for_ever(reset: str, wait: int | None) -> None:
    """A time to wait that no pace of a service has is cut to two minutes; what is no number says nothing."""
    error = await failure_of("brave", Reply(429, {"error": {}}, {"X-RateLimit-Reset": reset}))
    assert error.kind is FailureKind.RATE_LIMITED
    assert error.retry_after == (None if wait is None else timedelta(seconds=wait))
