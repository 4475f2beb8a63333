"""Tools for endpoints that know none: offers, calls and results told in words, and calls read from them."""

import json
from collections.abc import Sequence
from typing import Any

from deer.errors import InvalidInput
from deer.models import ChatMessage, ChatReply, RawToolCall, Speaker, ToolSpec
from deer.parsing import json_object
from deer.ports import ChatRequest

_CALLS = "tool_calls"


def conversation_in_words(request: ChatRequest) -> tuple[ChatMessage, ...]:
    """The request's messages without tool calls and tool replies, its tools told in the system message."""
    told: list[ChatMessage] = []
    for message in request.messages:
        worded = _in_words(message)
        if told and worded.speaker is told[-1].speaker is Speaker.USER:  # the results of one turn's calls
            worded = ChatMessage(speaker=Speaker.USER, content=f"{told[-1].content}\n\n{worded.content}")
            told.pop()
        told.append(worded)
    return _with_offer(told, request) if request.tools else tuple(told)


def with_calls_from_words(reply: ChatReply, tools: Sequence[ToolSpec]) -> ChatReply:
    """The reply with the calls that its text holds as JSON; as it is when the text holds none."""
    if reply.calls or not any(f'"{word}"' in reply.content for word in (_CALLS, "name")):
        return reply
    try:
        said = json_object(reply.content)
    except InvalidInput:
        return reply
    written = said.get(_CALLS, [said])
    names = {tool.name for tool in tools}
    calls = [call for call in written if _is_call(call)] if isinstance(written, list) else []
    if not calls or (_CALLS not in said and said["name"] not in names):
        return reply
    read = tuple(
        RawToolCall(id=f"call_{at}", name=call["name"], arguments=_arguments_of(call))
        for at, call in enumerate(calls, 1)
    )
    return reply.model_copy(update={"content": "", "calls": read})


def _is_call(value: Any) -> bool:  # Any: what a model wrote
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def _arguments_of(call: dict[str, Any]) -> str:
    arguments = call.get("arguments", {})
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _in_words(message: ChatMessage) -> ChatMessage:
    if message.speaker is Speaker.TOOL:
        result = f"Result of the tool call {message.call_id}:\n{message.content}"
        return ChatMessage(speaker=Speaker.USER, content=result)
    if not message.calls:
        return message
    calls = [{"id": call.id, "name": call.name, "arguments": _value_of(call.arguments)} for call in message.calls]
    words = json.dumps({_CALLS: calls}, ensure_ascii=False)
    return ChatMessage(speaker=Speaker.ASSISTANT, content=f"{message.content}\n{words}".strip())


def _value_of(arguments: str) -> Any:  # Any: what a model wrote
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _with_offer(told: Sequence[ChatMessage], request: ChatRequest) -> tuple[ChatMessage, ...]:
    tools = json.dumps([tool.model_dump() for tool in request.tools], ensure_ascii=False)
    when = "Answer by calling at least one of them" if request.must_call_tool else "To call some of them, answer"
    words = (
        f"You have these tools, each with the JSON Schema of its arguments:\n{tools}\n\n{when}: write one JSON object "
        f'and nothing else, such as {{"{_CALLS}": [{{"name": "a_tool", "arguments": {{}}}}]}}. '
        "The results come with the next message."
    )
    if told and told[0].speaker is Speaker.SYSTEM:
        first = told[0].model_copy(update={"content": f"{told[0].content}\n\n{words}"})
        return (first, *told[1:])
    return (ChatMessage(speaker=Speaker.SYSTEM, content=words), *told)
