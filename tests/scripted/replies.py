"""What a scripted service answers, and how a scripted model says it in OpenAI's dialect."""

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.scripted.calls import Call, Json

_ids = itertools.count(1)


@dataclass(frozen=True)
class Text:
    """An answer in words. `content` None is the null that some endpoints send."""

    content: str | None
    finish_reason: str = "stop"
    reasoning: str = ""


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool; arguments given as a string are sent as they are, valid or not."""

    name: str
    arguments: Json | str = field(default_factory=dict)

    def encoded(self) -> Json:
        """The call as it stands in an assistant's message."""
        raw = self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)
        return {"id": f"call_{next(_ids)}", "type": "function", "function": {"name": self.name, "arguments": raw}}


@dataclass(frozen=True)
class ToolCalls:
    """One or several tool calls in one message. `reasoning` is sent as `reasoning_content`."""

    calls: tuple[ToolCall, ...]
    content: str | None = None
    reasoning: str = ""


@dataclass(frozen=True)
class Stream:
    """A stream of these deltas. Without a `finish_reason` the connection is cut after them."""

    deltas: tuple[Json, ...]
    finish_reason: str | None = "stop"


@dataclass(frozen=True)
class Failure:
    """An answer that is an error. `hang_s`: seconds without a word before it."""

    status: int = 500
    body: Json | list[Json] | str = field(
        default_factory=lambda: {"error": {"message": "scripted failure", "type": "server_error"}}
    )
    headers: dict[str, str] = field(default_factory=dict)
    hang_s: float = 0.0


Reply = Text | ToolCalls | Stream | Failure
Answer = str | Reply
"""A plain string is a `Text`."""
Script = Answer | Sequence[Answer] | Callable[[Call], Answer]
"""One answer for ever, one after the other (the last for ever), or a function of the call."""

REFUSED_KEY = Failure(401, {"error": {"message": "Incorrect API key provided.", "code": "invalid_api_key"}})


def call_tool(name: str, **arguments: object) -> ToolCalls:
    """A reply that calls one tool."""
    return ToolCalls((ToolCall(name, dict(arguments)),))


def answer_to(call: Call, script: Script, nth: int) -> Reply:
    """The reply that a script has for the `nth` call it serves (from 1)."""
    if callable(script):
        answer = script(call)
    elif isinstance(script, Sequence) and not isinstance(script, str):
        answer = script[min(nth, len(script)) - 1]
    else:
        answer = script
    return Text(answer) if isinstance(answer, str) else answer


def completion(model: str, reply: Text | ToolCalls) -> Json:
    """The body of a chat completion that was not streamed."""
    return {
        "id": f"chatcmpl-{next(_ids)}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": _message(reply), "finish_reason": _finish_reason(reply)}],
        "usage": USAGE,
    }


USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


class ConnectionCut(Exception):
    """Ends a stream without its end: the server closes the connection on it."""


def stream_events(model: str, reply: Text | ToolCalls | Stream) -> Iterator[str]:
    """The server-sent events of a streamed chat completion, with usage at the end. Raises ConnectionCut."""
    head: Json = {"id": f"chatcmpl-{next(_ids)}", "object": "chat.completion.chunk", "created": 0, "model": model}
    deltas = reply.deltas if isinstance(reply, Stream) else _deltas(_message(reply))
    reason = reply.finish_reason if isinstance(reply, Stream) else _finish_reason(reply)
    for delta in deltas:
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    if reason is None:
        raise ConnectionCut
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    yield _event({**head, "choices": [], "usage": USAGE})
    yield "data: [DONE]\n\n"


def _deltas(message: Json) -> Iterator[Json]:
    yield {"role": "assistant", "content": ""}
    for name in ("reasoning_content", "content"):
        text = message.get(name) or ""
        yield from ({name: text[at : at + 40]} for at in range(0, len(text), 40))
    yield from ({"tool_calls": [{"index": i, **call}]} for i, call in enumerate(message.get("tool_calls") or ()))


def _event(chunk: Json) -> str:
    return f"data: {json.dumps(chunk)}\n\n"


def _message(reply: Text | ToolCalls) -> Json:
    message: Json = {"role": "assistant", "content": reply.content}
    if isinstance(reply, ToolCalls):
        message["tool_calls"] = [call.encoded() for call in reply.calls]
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    return message


def _finish_reason(reply: Text | ToolCalls) -> str:
    return "tool_calls" if isinstance(reply, ToolCalls) else reply.finish_reason


def order_fault(messages: Sequence[Json]) -> str | None:
    """Why an endpoint that is strict about tool messages would refuse a conversation; None when it would not."""
    owed: list[str] = []
    for at, message in enumerate(messages):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in owed:
                return f"message {at}: no open call has the id {message.get('tool_call_id')}"
            owed.remove(str(message["tool_call_id"]))
            continue
        if owed:
            return f"message {at}: the calls {owed} have no tool message"
        owed = [call["id"] for call in message.get("tool_calls") or ()]
    return f"the calls {owed} have no tool message" if owed else None
