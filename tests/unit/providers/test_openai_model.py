"""The model behind an OpenAI-compatible endpoint: what is asked, and how answers are read."""

import asyncio
import json
from typing import Any

import pytest

from deer.errors import FailureKind, ServiceError
from deer.models import ChatMessage, OutputSchema, RawToolCall, Speaker, Usage
from tests.unit.providers.model_endpoint import (
    GOOD,
    KEY,
    PLAN,
    SEARCH,
    completion,
    endpoint,
    refusal,
    reply_to,
    request,
    tool_calls,
)
from tests.unit.providers.web_server import Answerer, Asked, Reply, always, in_turn


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
    """A reply tells tokens, one call of its model, and the cost in USD of both kinds of tokens if there is a price."""
    reply = await reply_to(GOOD, input_price=2.5, output_price=10.0)
    counted = Usage(input_tokens=100, output_tokens=20, model_calls=1, models=("m-1",))
    assert reply.usage == counted.model_copy(update={"cost_usd": 0.00045})
    assert (await reply_to(GOOD, input_price=0.0)).usage == counted
    assert (await reply_to(GOOD)).usage == counted.model_copy(update={"unpriced_calls": 1})
    assert reply.model == "m-1"


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None, "completion_tokens": "many"}])
async def test_missing_usage_still_counts_the_call(usage: Any) -> None:
    """Endpoints that report no tokens cost one model call."""
    reply = await reply_to(completion({"content": "Yes."}, usage=usage, model=None))
    assert reply.usage == Usage(model_calls=1, models=("m",), unpriced_calls=1)
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
