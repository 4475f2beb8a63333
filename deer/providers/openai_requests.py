"""A `ChatRequest` as the body of a chat completion, in as much of the dialect as the endpoint understands."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from deer.models import ChatMessage, OutputSchema, RawToolCall, Speaker, ToolSpec
from deer.ports import ChatRequest
from deer.providers.openai_errors import Refusal
from deer.providers.plain_text import clean

Json = dict[str, Any]  # bodies follow the endpoint's API, which checks them itself

_ABOUT_OUTPUT = ("response_format", "response format", "json_schema", "json schema", "json_object", "structured output")


class OutputDialect(IntEnum):
    """How the endpoint is told what JSON to write, from the most binding to the least."""

    SCHEMA = 0
    JSON = 1
    WORDS = 2


@dataclass(frozen=True)
class Dialect:
    """What an endpoint understands, as far as it is known."""

    output: OutputDialect = OutputDialect.SCHEMA
    can_force_tools: bool = True
    knows_parallel_calls: bool = True

    def without_refused(self, refusal: Refusal, request: ChatRequest) -> "Dialect | None":
        """The next simpler dialect after a refusal of this request; None when it is about something else."""
        if request.tools and self.knows_parallel_calls and refusal.says(("parallel_tool_calls", "parallel tool")):
            return replace(self, knows_parallel_calls=False)
        if request.must_call_tool and self.can_force_tools and refusal.says(("tool_choice", "tool choice")):
            return replace(self, can_force_tools=False)
        if request.output and self.output < OutputDialect.WORDS and refusal.says(_ABOUT_OUTPUT):
            return replace(self, output=OutputDialect(self.output + 1))
        return None


def body_of(request: ChatRequest, model: str, dialect: Dialect) -> Json:
    """The JSON to post for this request."""
    messages = [_message_of(message) for message in request.messages]
    body: Json = {"model": model, "messages": messages}
    if request.tools:
        body["tools"] = [_tool_of(tool) for tool in request.tools]
        if request.must_call_tool:
            body["tool_choice"] = "required" if dialect.can_force_tools else "auto"
        if dialect.knows_parallel_calls:
            body["parallel_tool_calls"] = True
    if request.output:
        if dialect.output is OutputDialect.SCHEMA:
            body["response_format"] = _schema_format(request.output)
        else:
            body["messages"] = _with_schema_in_words(messages, request.output)
        if dialect.output is OutputDialect.JSON:
            body["response_format"] = {"type": "json_object"}
    return body


def _message_of(message: ChatMessage) -> Json:
    content = clean(message.content)
    if message.speaker is Speaker.TOOL:
        return {"role": "tool", "tool_call_id": message.call_id, "content": content}
    if message.calls:
        calls = [_call_of(call) for call in message.calls]
        return {"role": "assistant", "content": content or None, "tool_calls": calls}
    return {"role": message.speaker.value, "content": content}


def _call_of(call: RawToolCall) -> Json:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": _object_text(clean(call.arguments))},
    }


def _object_text(arguments: str) -> str:
    """Arguments as the text of a JSON object: endpoints refuse a conversation that repeats a model's broken ones."""
    try:
        is_object = isinstance(json.loads(arguments), dict)
    except ValueError:
        is_object = False
    return arguments if is_object else json.dumps({"unreadable_arguments": arguments}, ensure_ascii=False)


def _tool_of(tool: ToolSpec) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _schema_format(output: OutputSchema) -> Json:
    schema = output.json_schema
    named = {"name": output.name, "schema": schema, "strict": all(_is_closed(part) for part in _objects_in(schema))}
    return {"type": "json_schema", "json_schema": named}


def _objects_in(schema: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, Mapping):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from _objects_in(part)
    elif isinstance(schema, Sequence) and not isinstance(schema, str):
        for part in schema:
            yield from _objects_in(part)


def _is_closed(schema: Mapping[str, Any]) -> bool:
    """Whether an object names all its fields and asks for each, which OpenAI's strict mode insists on."""
    fields = set(schema.get("properties", ()))
    return schema.get("additionalProperties") is False and fields == set(schema.get("required", ()))


def _with_schema_in_words(messages: Sequence[Json], output: OutputSchema) -> list[Json]:
    """The conversation with the schema in its system message; some chat templates allow that message only first."""
    schema = json.dumps(output.json_schema, ensure_ascii=False)
    words = f"Answer with one JSON object and nothing else. It must match this JSON Schema:\n{schema}"
    first, *rest = messages
    if first["role"] == Speaker.SYSTEM.value:
        return [{**first, "content": f"{first['content']}\n\n{words}"}, *rest]
    return [{"role": Speaker.SYSTEM.value, "content": words}, *messages]
