"""What becomes of an OpenAI-compatible endpoint's refusals, failures and silence."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from deer.errors import FailureKind, ServiceError, SettingsError
from deer.providers.openai_model import OpenAIModel
from tests.unit.providers.model_endpoint import GOOD, KEY, completion, endpoint, refusal, reply_to, request, streamed
from tests.unit.providers.web_server import Reply, WebServer, always


async def failure_of(answer: Reply, **settings: Any) -> ServiceError:
    async with endpoint(always(answer), **settings) as (model, server):
        with pytest.raises(ServiceError) as caught:
            await model.complete(request())
        assert len(server.asked) == 1, "clients do not retry: Temporal does"
    error = caught.value
    assert error.__cause__ is None, "a cause would carry the endpoint's words into histories"
    assert "\n" not in str(error)
    assert len(str(error)) <= 400
    return error


KINDS = [
    (refusal(401, "Incorrect API key provided"), FailureKind.KEY_REFUSED, False),
    (refusal(403, "No access"), FailureKind.KEY_REFUSED, False),
    (refusal(404, "The model `m` does not exist", code="model_not_found"), FailureKind.UNKNOWN_MODEL, False),
    (refusal(400, "Model m does not exist"), FailureKind.UNKNOWN_MODEL, False),
    (refusal(429, "You exceeded your current quota", code="insufficient_quota"), FailureKind.QUOTA_SPENT, False),
    (refusal(402, "Insufficient Balance"), FailureKind.QUOTA_SPENT, False),
    (refusal(429, "Slow down"), FailureKind.RATE_LIMITED, True),
    (refusal(400, "too long", code="context_length_exceeded"), FailureKind.TOO_LONG, False),
    (refusal(400, "the request exceeds the available context size"), FailureKind.TOO_LONG, False),
    (refusal(413, "big"), FailureKind.TOO_LONG, False),
    (refusal(400, "messages must alternate"), FailureKind.REJECTED, False),
    (refusal(422, "no"), FailureKind.REJECTED, False),
    (refusal(408, "late"), FailureKind.UNAVAILABLE, True),
    (refusal(409, "lock"), FailureKind.UNAVAILABLE, True),
    (refusal(500, "oops"), FailureKind.UNAVAILABLE, True),
    (Reply(502, "<html><title>502</title></html>"), FailureKind.UNAVAILABLE, True),
    (refusal(529, "overloaded"), FailureKind.UNAVAILABLE, True),
    (Reply(500, {"error": {"message": "no"}}, {"x-should-retry": "false"}), FailureKind.UNAVAILABLE, False),
    (Reply(400, {"error": {"message": "no"}}, {"x-should-retry": "true"}), FailureKind.UNAVAILABLE, True),
    (Reply(200, {"error": {"message": "upstream", "code": 429}}), FailureKind.RATE_LIMITED, True),
    (Reply(200, {"error": {"message": "upstream"}}), FailureKind.UNAVAILABLE, True),
    (Reply(200, {"error": "upstream"}), FailureKind.UNAVAILABLE, True),
    (Reply(200, {"choices": None}), FailureKind.MALFORMED, True),
    (Reply(200, {"choices": []}), FailureKind.MALFORMED, True),
    (Reply(200, {"choices": [{"message": None}]}), FailureKind.MALFORMED, True),
    (Reply(200, {"choices": [{"message": {"tool_calls": "web_search"}}]}), FailureKind.MALFORMED, True),
    (Reply(200, "<!doctype html><p>Welcome"), FailureKind.MALFORMED, True),
    (Reply(200, b"", {"Content-Type": "application/json"}), FailureKind.MALFORMED, True),
    (Reply(200, b"\xff{", {"Content-Type": "application/json"}), FailureKind.MALFORMED, True),
    (completion({"content": None}, "content_filter"), FailureKind.REJECTED, False),
    (completion({"content": "Half of"}, "content_filter"), FailureKind.REJECTED, False),
    (completion({"content": "Half of"}, "error"), FailureKind.UNAVAILABLE, True),
    (refusal(403, "Project has no access to model m", code="model_not_found"), FailureKind.UNKNOWN_MODEL, False),
    (refusal(403, "Input was flagged by moderation"), FailureKind.REJECTED, False),
    (Reply(404, "<html><title>404</title></html>"), FailureKind.UNKNOWN_MODEL, False),
    (refusal(425, "early"), FailureKind.UNAVAILABLE, True),
    (refusal(429, "You have insufficient credits"), FailureKind.QUOTA_SPENT, False),
    (Reply(200, {"error": {"message": "no", "code": "503"}}), FailureKind.UNAVAILABLE, True),
    (Reply(200, {"error": {"message": "no", "type": "rate_limit_error"}}), FailureKind.RATE_LIMITED, True),
    (Reply(200, {"error": {"message": "no", "code": "invalid_api_key"}}), FailureKind.KEY_REFUSED, False),
    (Reply(200, {"error": {"message": "no", "type": "invalid_request_error"}}), FailureKind.REJECTED, False),
    (Reply(200, {"error": {"message": "no", "code": "context_length_exceeded"}}), FailureKind.TOO_LONG, False),
    (Reply(200, {"object": "error", "message": "no", "code": 500}), FailureKind.UNAVAILABLE, True),
]


@pytest.mark.parametrize(("answer", "kind", "retryable"), KINDS, ids=[f"{a.status}-{k.value}" for a, k, _ in KINDS])
async def test_every_failure_has_its_kind(answer: Reply, kind: FailureKind, retryable: bool) -> None:
    """Statuses, codes and broken answers become the kind that says whether a retry or a person helps."""
    error = await failure_of(answer)
    assert (error.kind, error.retryable) == (kind, retryable)


@pytest.mark.parametrize("answer", [a for a, kind, _ in KINDS if kind is FailureKind.MALFORMED])
async def test_an_unusable_answer_is_worth_three_attempts(answer: Reply) -> None:
    """What cannot be read may have been paid for: it is not asked for as often as an endpoint that is away."""
    assert (await failure_of(answer)).max_attempts == 3


async def test_a_refusal_of_the_model_is_its_answer() -> None:
    """What a model says in `refusal` is its text, whether streamed or not."""
    for answer in (
        completion({"content": None, "refusal": "I won't."}),
        streamed({"refusal": "I "}, {"refusal": "won't."}),
    ):
        assert (await reply_to(answer)).content == "I won't."


WAITS = [
    ({"retry-after": "7"}, 7.0),
    ({"retry-after": "0.5"}, 0.5),
    ({"retry-after-ms": "700", "retry-after": "9"}, 0.7),
    ({"retry-after": "3600"}, 120.0),
    ({"retry-after": "inf"}, 120.0),
    ({"retry-after": "-3"}, 0.0),
    ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ({"retry-after": "Fri, 01 Jan 2199 00:00:00 GMT"}, 120.0),
    ({"retry-after": "Fri, 01 Jan 2199 00:00:00 -0000"}, 120.0),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "nan"}, None),
    ({}, None),
]


@pytest.mark.parametrize(("headers", "seconds"), WAITS, ids=[str(headers) for headers, _ in WAITS])
async def test_the_wait_that_a_service_asks_for_is_read(headers: dict[str, str], seconds: float | None) -> None:
    """Milliseconds, seconds and HTTP dates are read, kept within two minutes, and nonsense is no wait."""
    error = await failure_of(Reply(429, {"error": {"message": "Slow down"}}, headers))
    assert error.retry_after == (None if seconds is None else timedelta(seconds=seconds))


async def test_no_error_holds_a_key() -> None:
    """The key and what looks like one are taken out of the endpoint's words, which are cut to one short line."""
    message = f"Bad key {KEY} (sk-proj-ab**cd, tvly-canary-9c1d, Bearer abc.def)\nsecond line " + "x" * 5000
    error = await failure_of(refusal(401, message))
    assert "[key]" in str(error)
    assert "OPENAI_API_KEY" in str(error)
    for secret in (KEY, "7f3a", "sk-proj", "9c1d", "abc.def"):
        assert secret not in f"{error!r} {error}"


async def test_a_silent_endpoint_is_unavailable() -> None:
    """No answer within the timeout is Unavailable, and the error says how long was waited."""
    quiet = asyncio.Event()

    async def never() -> AsyncIterator[bytes]:
        await quiet.wait()
        yield b""

    async with endpoint(always(Reply(chunks=never())), timeout=timedelta(seconds=0.2)) as (model, _):
        with pytest.raises(ServiceError, match=r"did not answer within 0\.2 s") as caught:
            await model.complete(request())
        quiet.set()
    assert (caught.value.kind, caught.value.retryable) == (FailureKind.UNAVAILABLE, True)


async def test_an_absent_endpoint_is_unavailable() -> None:
    """A refused connection is Unavailable and names address and setting, without user and password."""
    async with WebServer(always(GOOD)) as server:
        port = server.port
    model = OpenAIModel("m", f"http://user:secret@127.0.0.1:{port}/v1", KEY, timedelta(seconds=2))
    with pytest.raises(
        ServiceError, match=rf"http://127.0.0.1:{port}/v1 cannot be reached .*OPENAI_BASE_URL"
    ) as caught:
        await model.complete(request())
    await model.aclose()
    assert (caught.value.kind, caught.value.retryable) == (FailureKind.UNAVAILABLE, True)
    assert "secret" not in str(caught.value)


def test_a_key_that_cannot_be_sent_is_refused_at_once() -> None:
    """A key with letters that no header may carry is a wrong setting, named without its value."""
    with pytest.raises(SettingsError, match="printable ASCII") as caught:
        OpenAIModel("m", None, "sk-ключ", timedelta(seconds=1))
    assert "ключ" not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", 8192),
        ("maximum context length is 128,000 tokens. However, your messages resulted in 130,001 tokens", 128_000),
        ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("Please reduce the length of the messages.", None),
    ],
)
async def test_a_refusal_for_length_tells_the_limit_that_it_names(said: str, limit: int | None) -> None:
    """The tokens that the model takes are read from the endpoint's sentence, not those that were sent."""
    error = await failure_of(refusal(400, said))
    assert (error.kind, error.token_limit) == (FailureKind.TOO_LONG, limit)
