"""A `ChatRequest` as the body of a chat completion, in as much of the dialect as the endpoint understands."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deer.models import ChatMessage, OutputSchema, RawToolCall, Speaker, ToolSpec
from deer.ports import ChatRequest
from deer.providers.openai_dialects import Dialect, OutputDialect, StreamDialect, SystemDialect, ToolDialect
from deer.providers.openai_seals import unseal
from deer.providers.plain_text import clean
from deer.providers.tools_in_words import conversation_in_words

Json = dict[str, Any]  # bodies follow the endpoint's API, which checks them itself


def body_of(request: ChatRequest, model: str, dialect: Dialect) -> Json:
    """The JSON to post for this request."""
    told = request.messages
    if dialect.tools is ToolDialect.WORDS:
        told = conversation_in_words(request)
    messages = [_message_of(message, dialect) for message in told]
    body: Json = {"model": model, "messages": messages}
    if dialect.stream is not StreamDialect.WHOLE:
        body["stream"] = True
    if dialect.stream is StreamDialect.WITH_USAGE:
        body["stream_options"] = {"include_usage": True}
    if request.tools and dialect.tools is not ToolDialect.WORDS:
        body |= _offer_of(request, dialect)
    if request.output:
        body |= _wish_of(request.output, dialect.output_of(request))
        if dialect.output_of(request) >= OutputDialect.JSON:
            body["messages"] = messages = _with_schema_in_words(messages, request.output)
    if dialect.system is not SystemDialect.SYSTEM:
        body["messages"] = _with_system_as(dialect.system, messages)
    return body


def _offer_of(request: ChatRequest, dialect: Dialect) -> Json:
    offer: Json = {"tools": [_tool_of(tool) for tool in request.tools]}
    if request.must_call_tool:
        offer["tool_choice"] = "required" if dialect.tools is ToolDialect.FORCED else "auto"
    if dialect.knows_parallel_calls:
        offer["parallel_tool_calls"] = True
    return offer


def _wish_of(output: OutputSchema, dialect: OutputDialect) -> Json:
    if dialect is OutputDialect.SCHEMA:
        return {"response_format": _schema_format(output)}
    if dialect is OutputDialect.TOOL:
        tool = ToolSpec(name=output.name, description=f"Hand in the {output.name}.", parameters=output.json_schema)
        return {"tools": [_tool_of(tool)], "tool_choice": {"type": "function", "function": {"name": output.name}}}
    return {"response_format": {"type": "json_object"}} if dialect is OutputDialect.JSON else {}


def _message_of(message: ChatMessage, dialect: Dialect) -> Json:
    content = clean(message.content)
    if message.speaker is Speaker.TOOL:
        return {"role": "tool", "tool_call_id": message.call_id, "content": content}
    if not message.calls:
        return {"role": message.speaker.value, "content": content}
    calls = [_call_of(call) for call in message.calls]
    told: Json = {"role": "assistant", "content": content or None, "tool_calls": calls}
    sealed = message.sealed if dialect.takes_seals else None
    unseal(told, sealed, signs_all=dialect.signs_all_calls)
    holds_it_sealed = sealed is not None and bool(sealed.message)
    if message.reasoning and dialect.reasoning_field is not None and not holds_it_sealed:
        told[dialect.reasoning_field] = clean(message.reasoning)
    return told


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


def _with_system_as(dialect: SystemDialect, messages: Sequence[Json]) -> list[Json]:
    """The conversation with its system messages under the role of the dialect.

    As words of the user they join what the user says next to them: templates without a system role want user and
    assistant to take turns.
    """
    role = "developer" if dialect is SystemDialect.DEVELOPER else "user"
    told: list[Json] = []
    for message in messages:
        if message["role"] == Speaker.SYSTEM.value:
            message = {**message, "role": role}
        if told and message["role"] == told[-1]["role"] == "user":
            told[-1] = {**message, "content": f"{told[-1]['content']}\n\n{message['content']}"}
        else:
            told.append(message)
    return told
