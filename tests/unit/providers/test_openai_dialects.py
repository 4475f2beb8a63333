"""What an endpoint refuses is learnt within the call, remembered, and asked for in simpler terms."""

import asyncio
import json
from typing import Any

import pytest

from deer.errors import FailureKind, ServiceError
from deer.models import ChatMessage, RawToolCall, Speaker
from deer.ports import ChatRequest
from tests.unit.providers.model_endpoint import (
    GOOD,
    PLAN,
    SEARCH,
    completion,
    endpoint,
    refusal,
    request,
    streamed,
    tool_calls,
)
from tests.unit.providers.web_server import Answerer, Asked, Reply, always, in_turn

SYSTEM = ChatMessage(speaker=Speaker.SYSTEM, content="You are an analyst.")
USER = ChatMessage(speaker=Speaker.USER, content="Compare.")
CALL = RawToolCall(id="call_1", name="web_search", arguments='{"query": "x"}')
LOOP = (
    SYSTEM,
    USER,
    ChatMessage(speaker=Speaker.ASSISTANT, content="Let me look.", calls=(CALL,), reasoning="I should search."),
    ChatMessage(speaker=Speaker.TOOL, content="found", call_id="call_1"),
)
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}


def refuses(*words: str) -> Answerer:
    """An endpoint that refuses requests with these words in them, naming the first that it meets."""

    def answer(asked: Asked) -> Reply:
        told = json.dumps({name: value for name, value in asked.json.items() if name != "messages"})
        for word in words:
            if word in told:
                return refusal(400, f"Unsupported value: {word} is not supported by this model")
        return completion({"content": "{}"})

    return answer


def refuses_once(status: int, message: str, **more: Any) -> Answerer:
    return in_turn(refusal(status, message, **more), GOOD)


def way_of(asked: Asked) -> str:
    """How a request asks for JSON."""
    if asked.json.get("tools"):
        return "tool"
    return str(asked.json.get("response_format", {}).get("type", "words"))


async def test_json_is_asked_for_in_ever_simpler_terms_and_what_was_learnt_is_kept() -> None:
    """json_schema falls to a forced tool, json_object, then words, within one call; refused attempts cost nothing."""
    async with endpoint(refuses("json_schema", "tool_choice", "json_object")) as (model, server):
        reply = await model.complete(request(output=PLAN))
        assert [way_of(asked) for asked in server.asked] == ["json_schema", "tool", "json_object", "words"]
        assert reply.usage.model_calls == 1
        await model.complete(request(output=PLAN))
        assert len(server.asked) == 5
        assert '"title"' in server.asked[-1].json["messages"][0]["content"], "the schema is told in words instead"


async def test_the_arguments_of_the_forced_tool_are_the_answer() -> None:
    """Where json_schema is unknown, one forced tool has the schema as parameters and its arguments are the text."""
    call = {"id": "a", "function": {"name": "plan", "arguments": '{"title": "T"}'}}
    answers = in_turn(refusal(400, "response_format json_schema is not supported"), tool_calls(call))
    async with endpoint(answers) as (model, server):
        for _ in range(2):
            reply = await model.complete(request(output=PLAN))
            assert (reply.content, reply.calls) == ('{"title": "T"}', ())
    body = server.asked[-1].json
    assert len(server.asked) == 3
    assert body["tools"][0]["function"]["parameters"] == PLAN.json_schema
    assert body["tool_choice"] == {"type": "function", "function": {"name": "plan"}}
    assert "response_format" not in body


async def test_an_endpoint_that_ignores_the_forced_tool_is_asked_otherwise_next_time() -> None:
    """Text in place of the forced call is taken, without a second call, and the next request asks for json_object."""
    answers = in_turn(refusal(400, "json_schema is not supported"), completion({"content": "{}"}))
    async with endpoint(answers) as (model, server):
        assert (await model.complete(request(output=PLAN))).content == "{}"
        await model.complete(request(output=PLAN))
    assert [way_of(asked) for asked in server.asked] == ["json_schema", "tool", "json_object"]


async def test_a_pydantic_complaint_about_the_format_is_understood() -> None:
    """A 422 that names `response_format` only in its details goes on, and words of the request in it mean nothing."""
    detail = [
        {
            "loc": ["body", "response_format", "type"],
            "msg": "Input should be 'text' or 'json_object'",
            "input": {"messages": "please stream on the system role"},
        }
    ]
    async with endpoint(in_turn(Reply(422, {"detail": detail}), GOOD)) as (model, server):
        await model.complete(request(output=PLAN))
    assert way_of(server.asked[1]) == "tool"
    assert server.asked[1].json["stream"] is True


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
    async with endpoint(refuses("json_schema", "tool_choice")) as (model, server):
        await asyncio.gather(*(model.complete(request(output=PLAN)) for _ in range(5)))
        await model.complete(request(output=PLAN))
    assert way_of(server.asked[-1]) == "json_object"


NO_TOOLS = [
    (400, "registry.ollama.ai/library/gemma3:4b does not support tools"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    (404, "No endpoints found that support tool use. Try disabling web_search."),
    (500, "tools param requires --jinja flag"),
    (422, "tools: Extra inputs are not permitted"),
    (501, "function calling is not implemented"),
]


@pytest.mark.parametrize(("status", "message"), NO_TOOLS)
async def test_an_endpoint_without_tools_is_told_of_them_in_words(status: int, message: str) -> None:
    """Tools, earlier calls and results become text, and the JSON that the model writes becomes calls."""
    said = '```json\n{"tool_calls": [{"name": "web_search", "arguments": {"query": "y"}}]}\n```'
    answers = in_turn(refusal(status, message), completion({"content": said}))
    async with endpoint(answers) as (model, server):
        reply = await model.complete(request(messages=LOOP, tools=(SEARCH,)))
    assert [(call.name, json.loads(call.arguments)) for call in reply.calls] == [("web_search", {"query": "y"})]
    assert reply.content == ""
    body = server.asked[-1].json
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    assert "web_search" in body["messages"][0]["content"]
    assert '"query": "x"' in body["messages"][2]["content"]
    assert "found" in body["messages"][3]["content"]


async def test_text_stays_text_where_tools_are_told_in_words() -> None:
    """An answer that is no call, even with JSON in it, is left as it is."""
    said = 'The file is {"name": "x.json"}.'
    answers = in_turn(refusal(400, "this model does not support tools"), completion({"content": said}))
    async with endpoint(answers) as (model, _):
        reply = await model.complete(request(tools=(SEARCH,)))
    assert (reply.content, reply.calls) == (said, ())


@pytest.mark.parametrize(
    "message",
    [
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'",
        "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
        "tools.0.function.parameters: nothing wrong, the harmless words of a refusal",
        "tool_calls[0].id: Invalid value, must be followed by the reply to it",
    ],
)
async def test_complaints_about_the_conversation_are_no_lack_of_tools(message: str) -> None:
    """A refusal that speaks of tools but not of a lack of them ends the call, after one request."""
    async with endpoint(always(refusal(400, message))) as (model, server):
        with pytest.raises(ServiceError) as caught:
            await model.complete(request(messages=LOOP, tools=(SEARCH,)))
    assert caught.value.kind is FailureKind.REJECTED
    assert len(server.asked) == 1


NO_MAX_TOKENS = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
SETTINGS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "stream_options": ({}, "Unknown parameter: 'stream_options'.", {"stream": True}),
    "stream": ({}, "Your organization must be verified to stream this model.", {}),
    "temperature": (
        {"temperature": 0.2, "seed": 1},
        "Unsupported value: 'temperature' does not support 0.2 with this model.",
        STREAMED | {"seed": 1},
    ),
    "max_tokens": ({"max_tokens": 9}, NO_MAX_TOKENS, STREAMED | {"max_completion_tokens": 9}),
    "max_completion_tokens": (
        {"max_completion_tokens": 9},
        "Unrecognized request argument supplied: max_completion_tokens",
        STREAMED | {"max_tokens": 9},
    ),
}


@pytest.mark.parametrize(("extra", "message", "sent"), SETTINGS.values(), ids=SETTINGS.keys())
async def test_a_refused_setting_is_left_out_or_renamed(
    extra: dict[str, Any], message: str, sent: dict[str, Any]
) -> None:
    """Streaming, its options, sampling and the name of the output limit follow what the endpoint takes."""
    async with endpoint(refuses_once(400, message), extra=extra) as (model, server):
        for _ in range(2):
            await model.complete(request())
    assert len(server.asked) == 3
    for asked in server.asked[1:]:
        assert {name: value for name, value in asked.json.items() if name not in ("model", "messages")} == sent


ROLES = [
    (400, "System role not supported", ["user"]),
    (500, "Jinja Exception: System role not supported", ["user"]),
    (400, "Developer instruction is not enabled for models/gemma-3-4b-it", ["user"]),
    (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model.", ["user"]),
    (400, "Conversation roles must alternate user/assistant/user/assistant/...", ["user"]),
    (500, "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...", ["user"]),
    (400, "'system' is not one of the roles of this model, use 'developer'; role system", ["developer", "user"]),
]


@pytest.mark.parametrize(("status", "message", "roles"), ROLES)
async def test_a_refused_system_role_is_said_otherwise(status: int, message: str, roles: list[str]) -> None:
    """System words go under the developer's role, or begin the first message of the user."""
    async with endpoint(refuses_once(status, message)) as (model, server):
        await model.complete(request(messages=(SYSTEM, USER)))
    messages = server.asked[-1].json["messages"]
    assert [message["role"] for message in messages] == roles
    assert messages[0]["content"].startswith("You are an analyst.")
    assert messages[-1]["content"].endswith("Compare.")


async def test_a_refused_developer_role_becomes_the_users() -> None:
    """After system and developer only the user's role is left."""
    answers = in_turn(
        refusal(400, "role 'system' is not supported, use 'developer'"),
        refusal(400, "role developer: system message not supported"),
        GOOD,
    )
    async with endpoint(answers) as (model, server):
        await model.complete(request(messages=(SYSTEM, USER)))
    assert [asked.json["messages"][0]["role"] for asked in server.asked] == ["system", "developer", "user"]


async def ask(answers: Answerer, *requests: ChatRequest) -> list[Asked]:
    async with endpoint(answers) as (model, server):
        for one in requests:
            await model.complete(one)
    return server.asked


IN_LOOP = request(messages=LOOP, tools=(SEARCH,))


async def test_reasoning_goes_back_with_the_calls_it_led_to() -> None:
    """What a model thought before a call is sent back with it, under the name that this endpoint gives it."""
    (asked,) = await ask(always(GOOD), IN_LOOP)
    assert asked.json["messages"][2]["reasoning_content"] == "I should search."
    renamed = await ask(always(streamed({"reasoning": "hm"}, {"content": "Yes."})), IN_LOOP, IN_LOOP)
    assert renamed[1].json["messages"][2]["reasoning"] == "I should search."
    assert "reasoning_content" not in renamed[1].json["messages"][2]


async def test_reasoning_that_an_endpoint_refuses_is_left_out() -> None:
    """An endpoint that does not know the field is asked without it, once and for all."""
    asked = await ask(
        refuses_once(400, "messages.2.reasoning_content: Extra inputs are not permitted"), IN_LOOP, IN_LOOP
    )
    assert ["reasoning_content" in one.json["messages"][2] for one in asked] == [True, False, False]


async def test_a_real_fault_is_told_after_one_request() -> None:
    """A refusal that is about no feature is an error at once, whatever else the request holds."""
    async with endpoint(always(refusal(400, "messages: at least one is empty"))) as (model, server):
        with pytest.raises(ServiceError, match="at least one is empty"):
            await model.complete(request(output=PLAN, messages=(SYSTEM, USER)))
    assert len(server.asked) == 1


@pytest.mark.parametrize("message", ["stream error: the model is not available", "tools: connection lost", "oops"])
async def test_a_server_that_fails_is_no_lack_of_a_feature(message: str) -> None:
    """A 500 that names a feature without saying that it is missing is a failure, to be tried again as it was."""
    async with endpoint(always(refusal(500, message))) as (model, server):
        with pytest.raises(ServiceError) as caught:
            await model.complete(IN_LOOP)
    assert (caught.value.kind, caught.value.retryable) == (FailureKind.UNAVAILABLE, True)
    assert len(server.asked) == 1


async def test_a_request_that_is_too_long_is_no_lack_of_a_feature() -> None:
    """What endpoints count up when a request is too long is not refused by them."""
    message = "This model's maximum context length is only 8192 tokens (8000 in the messages, 900 in the functions)."
    async with endpoint(always(refusal(400, message))) as (model, server):
        with pytest.raises(ServiceError) as caught:
            await model.complete(IN_LOOP)
    assert caught.value.kind is FailureKind.TOO_LONG
    assert len(server.asked) == 1


async def test_the_ladder_ends() -> None:
    """An endpoint that refuses everything, whatever it is asked, gets a bounded number of requests."""
    everything = "stream stream_options response_format tools tool_choice parallel_tool_calls system role not supported"
    async with endpoint(always(refusal(400, everything))) as (model, server):
        with pytest.raises(ServiceError) as caught:
            await model.complete(request(messages=LOOP, tools=(SEARCH,), must_call_tool=True))
    assert caught.value.kind is FailureKind.REJECTED
    assert len(server.asked) <= 8
