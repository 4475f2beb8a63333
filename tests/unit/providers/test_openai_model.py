"""The model behind an OpenAI-compatible endpoint: what is asked, and how answers are read."""

import asyncio
import json
from typing import Any

import pytest

from deer.errors import FailureKind, ServiceError
from deer.models import ChatMessage, OutputSchema, RawToolCall, Speaker, Usage
from deer.providers.openai_usage import estimated_tokens
from tests.unit.providers.model_endpoint import (
    GOOD,
    KEY,
    PLAN,
    SEARCH,
    completion,
    endpoint,
    reply_to,
    request,
    tool_calls,
)
from tests.unit.providers.web_server import Asked, Reply, always


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
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_plain_requests_name_no_tools_and_no_format() -> None:
    """Without tools and output, nothing about them is sent: some endpoints refuse the empty fields."""
    async with endpoint(always(GOOD)) as (model, server):
        await model.complete(request())
    assert set(server.asked[0].json) == {"model", "messages", "stream", "stream_options"}


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
async def test_missing_usage_is_estimated_and_marked(usage: Any) -> None:
    """Tokens that an endpoint does not report are worked out from the texts, priced, and marked as estimated."""
    answer = completion({"content": "word " * 40}, usage=usage, model=None)
    reply = await reply_to(answer, input_price=1_000_000.0)
    assert (reply.usage.model_calls, reply.usage.estimated_calls) == (1, 1)
    assert reply.usage.output_tokens == 50
    assert reply.usage.input_tokens == reply.usage.cost_usd > 30
    assert reply.usage_is_estimated
    assert reply.model == "m"


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abcd" * 100, 100), ("研究报告" * 30, 80), ("исследование", 6), ("ab研究", 2)]
)
def test_tokens_are_estimated_by_script(text: str, tokens: int) -> None:
    """Four bytes a token, 1.5 signs for Chinese, Japanese and Korean."""
    assert estimated_tokens(text) == tokens


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
        ("<think>never closed", ""),
        ("<think>never closed, but cut\n\nYes.", ""),
        ("Is it? It is.\n</think>\n\nYes.", "Yes."),
        ("<think>a</think>\n<thinking>b</thinking>\nYes.", "Yes."),
        ("Yes.\n<THINK>\nor no\n</THINK>\nIndeed.", "Yes.\n\nIndeed."),
        ("<think>a <think>b</think> c</think>Yes.", "Yes."),
        ("The tag `</think>` ends it.", "The tag `</think>` ends it."),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Yes."}],
            "Yes.",
        ),
        ("a\0b\ud83d", "ab\ufffd"),
    ],
)
async def test_content_is_read_in_every_shape(content: Any, text: str) -> None:
    """Null, parts and blocks of reasoning, closed, unopened or unclosed, become the plain answer; other tags stay."""
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
