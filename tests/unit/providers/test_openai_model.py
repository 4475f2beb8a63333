"""The model behind an OpenAI-compatible endpoint: what is asked, and how answers are read."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from typing import Any

import pytest

from deer.errors import FailureKind, ServiceError, SettingsError
from deer.models import (
    ChatMessage,
    ChatReply,
    CoordinatorBrief,
    OutputSchema,
    RawToolCall,
    Role,
    Speaker,
    ToolSpec,
    Usage,
)
from deer.ports import ChatRequest
from deer.providers.openai_model import OpenAIModel
from tests.unit.providers.web_server import Answerer, Asked, Reply, WebServer, always, in_turn

KEY = "sk-canary/7f3a+model"
SEARCH = ToolSpec(name="web_search", description="Search.", parameters={"type": "object", "properties": {}})
PLAN = OutputSchema(name="plan", json_schema={"type": "object", "properties": {"title": {"type": "string"}}})


def completion(message: dict[str, Any], finish_reason: str = "stop", **more: Any) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return Reply(
        body={"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage, "model": "m-1"} | more
    )


def tool_calls(*calls: dict[str, Any]) -> Reply:
    return completion({"content": None, "tool_calls": list(calls)}, "tool_calls")


def refusal(status: int, message: str, **more: Any) -> Reply:
    return Reply(status, {"error": {"message": message, **more}})


def request(**changes: Any) -> ChatRequest:
    hello = ChatMessage(speaker=Speaker.USER, content="Hello")
    given = {"role": Role.ANALYST, "brief": BRIEF, "messages": (hello,), **changes}
    return ChatRequest(**given)


BRIEF = CoordinatorBrief(question="Hello", locale="en-US", today=date(2026, 11, 30), locale_is_fixed=False)
GOOD = completion({"content": "Yes."})


@asynccontextmanager
async def endpoint(answer: Answerer, **settings: Any) -> AsyncIterator[tuple[OpenAIModel, WebServer]]:
    async with WebServer(answer) as server:
        given: dict[str, Any] = {
            "model": "m",
            "base_url": f"{server.url}/v1",
            "api_key": KEY,
            "timeout": timedelta(seconds=5),
        }
        model = OpenAIModel(**given | settings)
        yield model, server
        await model.aclose()


async def reply_to(answer: Reply, **settings: Any) -> ChatReply:
    async with endpoint(always(answer), **settings) as (model, _):
        return await model.complete(request(tools=(SEARCH,)))


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


async def test_a_request_carries_messages_tools_and_the_key() -> None:
    """Speakers, tool calls, replies and offered tools reach the endpoint as chat completions have them."""
    call = RawToolCall(id="call_1", name="web_search", arguments='{"query": "x"}')
    conversation = (
        ChatMessage(speaker=Speaker.SYSTEM, content="You are an analyst."),
        ChatMessage(speaker=Speaker.USER, content="Compare."),
        ChatMessage(speaker=Speaker.ASSISTANT, calls=(call,)),
        ChatMessage(speaker=Speaker.TOOL, content="nothing", call_id="call_1"),
    )
    async with endpoint(always(GOOD), extra={"temperature": 0.2}) as (model, server):
        await model.complete(request(messages=conversation, tools=(SEARCH,), must_call_tool=True))
    (asked,) = server.asked
    assert (asked.method, asked.target) == ("POST", "/v1/chat/completions")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    function = {"name": "web_search", "arguments": '{"query": "x"}'}
    tool = {"name": "web_search", "description": "Search.", "parameters": {"type": "object", "properties": {}}}
    assert asked.json == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "You are an analyst."},
            {"role": "user", "content": "Compare."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "nothing"},
        ],
        "tools": [{"type": "function", "function": tool}],
        "tool_choice": "required",
        "parallel_tool_calls": True,
        "temperature": 0.2,
    }


async def test_plain_requests_name_no_tools_and_no_format() -> None:
    """Without tools and output, nothing about them is sent: some endpoints refuse the empty fields."""
    async with endpoint(always(GOOD)) as (model, server):
        await model.complete(request())
    assert set(server.asked[0].json) == {"model", "messages"}


async def test_unsendable_characters_are_cleaned_before_sending() -> None:
    """NUL and lone surrogates leave the text, surrogate pairs become their character, written-out escapes stay."""
    text = "a\0b \ud83d c \ud83d\ude00 literal \\u0000"
    async with endpoint(always(GOOD)) as (model, server):
        await model.complete(request(messages=(ChatMessage(speaker=Speaker.USER, content=text),)))
    assert server.asked[0].json["messages"][0]["content"] == "ab \ufffd c 😀 literal \\u0000"


async def test_broken_arguments_are_repeated_as_json() -> None:
    """A conversation that repeats a model's broken arguments does so in JSON, which endpoints insist on."""
    call = RawToolCall(id="1", name="web_search", arguments='{"query": "a')
    conversation = (ChatMessage(speaker=Speaker.ASSISTANT, calls=(call,)),)
    async with endpoint(always(GOOD)) as (model, server):
        await model.complete(request(messages=conversation))
    sent = server.asked[0].json["messages"][0]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"unreadable_arguments": '{"query": "a'}


async def test_usage_is_counted_and_priced() -> None:
    """A reply tells tokens, one model call and the price in USD of both kinds of tokens."""
    reply = await reply_to(GOOD, input_price=2.5, output_price=10.0)
    assert reply.usage == Usage(input_tokens=100, output_tokens=20, model_calls=1, cost_usd=0.00045)
    assert reply.model == "m-1"


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None, "completion_tokens": "many"}])
async def test_missing_usage_still_counts_the_call(usage: Any) -> None:
    """Endpoints that report no tokens cost one model call."""
    reply = await reply_to(completion({"content": "Yes."}, usage=usage, model=None))
    assert reply.usage == Usage(model_calls=1)
    assert reply.model == "m"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("Yes.", "Yes."),
        ([{"type": "text", "text": "Yes"}, {"type": "reasoning", "text": "hm"}, {"type": "text", "text": "."}], "Yes."),
        ([], ""),
        ("<think>Is it?\n</think>\n\nYes.", "Yes."),
        ("\n<think></think>Yes.", "Yes."),
        ("Tags such as <think>x</think> are kept.", "Tags such as <think>x</think> are kept."),
        ("<think>never closed", "<think>never closed"),
        ("a\0b\ud83d", "ab\ufffd"),
    ],
)
async def test_content_is_read_in_every_shape(content: Any, text: str) -> None:
    """Null, parts and a closed block of reasoning at the start become the plain answer; other text is left alone."""
    assert (await reply_to(completion({"content": content, "reasoning_content": "secret thoughts"}))).content == text


async def test_a_cut_answer_says_so() -> None:
    """`finish_reason` length means that the output limit ended the answer."""
    assert (await reply_to(completion({"content": "Half of"}, "length"))).was_cut
    assert not (await reply_to(GOOD)).was_cut


async def test_tool_calls_are_read_with_ids_of_their_own() -> None:
    """Missing and repeated ids are replaced; arguments may be text, an object or null; broken text stays."""
    reply = await reply_to(
        tool_calls(
            {"id": "a", "type": "function", "function": {"name": "web_search", "arguments": '{"query": "a'}},
            {"id": "a", "type": "function", "function": {"name": "web_search", "arguments": {"query": "b"}}},
            {"id": None, "function": {"name": "read_page", "arguments": None}},
        )
    )
    assert reply.calls == (
        RawToolCall(id="a", name="web_search", arguments='{"query": "a'),
        RawToolCall(id="call_2", name="web_search", arguments='{"query": "b"}'),
        RawToolCall(id="call_3", name="read_page", arguments="{}"),
    )
    assert reply.content == ""


def refuses(*words: str) -> Answerer:
    """An endpoint that refuses requests with these words in them, naming the first that it meets."""

    def answer(asked: Asked) -> Reply:
        told = json.dumps({name: value for name, value in asked.json.items() if name != "messages"})
        for word in words:
            if word in told:
                return refusal(400, f"Unsupported value: {word} is not supported by this model")
        return completion({"content": "{}"})

    return answer


async def test_an_endpoint_without_json_schema_is_asked_in_simpler_terms_and_remembered() -> None:
    """json_schema falls to json_object, then to words, within one call; refused attempts cost nothing."""
    async with endpoint(refuses("json_schema", "json_object")) as (model, server):
        reply = await model.complete(request(output=PLAN))
        formats = [asked.json.get("response_format", {}).get("type") for asked in server.asked]
        assert formats == ["json_schema", "json_object", None]
        assert reply.usage.model_calls == 1
        await model.complete(request(output=PLAN))
        assert len(server.asked) == 4
        assert '"title"' in server.asked[-1].json["messages"][0]["content"], "the schema is told in words instead"


async def test_a_pydantic_complaint_about_the_format_is_understood() -> None:
    """A 422 that names `response_format` only in its details goes on to json_object as well."""
    detail = [{"loc": ["body", "response_format", "type"], "msg": "Input should be 'text' or 'json_object'"}]
    async with endpoint(in_turn(Reply(422, {"detail": detail}), GOOD)) as (model, server):
        await model.complete(request(output=PLAN))
    assert server.asked[1].json["response_format"] == {"type": "json_object"}


async def test_forced_and_parallel_calls_fall_back_and_are_remembered() -> None:
    """An endpoint that knows neither `required` nor `parallel_tool_calls` gets `auto`, once and for all."""
    async with endpoint(refuses("parallel_tool_calls", 'tool_choice": "required')) as (model, server):
        for _ in range(2):
            await model.complete(request(tools=(SEARCH,), must_call_tool=True))
    assert len(server.asked) == 4
    assert server.asked[-1].json["tool_choice"] == "auto"
    assert "parallel_tool_calls" not in server.asked[-1].json


async def test_calls_side_by_side_learn_one_dialect() -> None:
    """Several calls that meet the same refusal at once step down once, not once each."""
    async with endpoint(refuses("json_schema")) as (model, server):
        await asyncio.gather(*(model.complete(request(output=PLAN)) for _ in range(5)))
        await model.complete(request(output=PLAN))
    assert server.asked[-1].json["response_format"] == {"type": "json_object"}


async def test_closed_schemas_are_asked_for_strictly() -> None:
    """`strict` is set only where every object closes and requires its fields, as OpenAI insists."""
    inner = {
        "type": "object",
        "properties": {"b": {"type": "string"}},
        "required": ["b"],
        "additionalProperties": False,
    }
    closed = {"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": False}
    async with endpoint(always(GOOD)) as (model, server):
        await model.complete(request(output=OutputSchema(name="closed", json_schema=closed)))
        await model.complete(request(output=PLAN))
    assert [asked.json["response_format"]["json_schema"]["strict"] for asked in server.asked] == [True, False]


async def test_the_only_listed_model_is_taken() -> None:
    """Without a model name, the single one that the endpoint lists is used, and asked for once."""

    def answer(asked: Asked) -> Reply:
        return Reply(body={"object": "list", "data": [{"id": "local-1"}]}) if asked.method == "GET" else GOOD

    async with endpoint(answer, model=None, api_key=None) as (model, server):
        await asyncio.gather(*(model.complete(request()) for _ in range(3)))
    assert sum(asked.target == "/v1/models" for asked in server.asked) == 1
    assert server.asked[-1].json["model"] == "local-1"


@pytest.mark.parametrize(
    ("listing", "said"),
    [
        (Reply(body={"data": [{"id": "a-1"}, {"id": "b-2"}]}), r"lists 2 models \(a-1, b-2\); name one in BASIC_MODEL"),
        (Reply(body={"data": []}), "lists no model; name one in BASIC_MODEL"),
        (Reply(404, b"nothing here"), "lists no model; name one in BASIC_MODEL"),
    ],
)
async def test_without_a_name_the_listed_models_are_told(listing: Reply, said: str) -> None:
    """Where the endpoint lists none or several models, the error names them and the setting."""
    async with endpoint(always(listing), model=None) as (model, _):
        with pytest.raises(ServiceError, match=said) as caught:
            await model.complete(request())
    assert caught.value.kind is FailureKind.UNKNOWN_MODEL


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
]


@pytest.mark.parametrize(("answer", "kind", "retryable"), KINDS, ids=[f"{a.status}-{k.value}" for a, k, _ in KINDS])
async def test_every_failure_has_its_kind(answer: Reply, kind: FailureKind, retryable: bool) -> None:
    """Statuses, codes and broken answers become the kind that says whether a retry or a person helps."""
    error = await failure_of(answer)
    assert (error.kind, error.retryable) == (kind, retryable)


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
