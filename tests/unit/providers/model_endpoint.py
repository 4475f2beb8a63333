"""An OpenAI-compatible endpoint on loopback for one test, with the model that asks it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from typing import Any

from deer.models import ChatMessage, ChatReply, CoordinatorBrief, OutputSchema, Role, Speaker, ToolSpec
from deer.ports import ChatRequest
from deer.providers.openai_model import OpenAIModel
from tests.unit.providers.web_server import Answerer, Reply, WebServer, always

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


def streamed(*deltas: dict[str, Any], finish_reason: str | None = "stop", **more: Any) -> Reply:
    """A stream of these deltas; without a finish reason it breaks off after them."""
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    chunks: list[dict[str, Any]] = [{"choices": [choice], "model": "m-1"} | more for choice in choices]
    if finish_reason is not None:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]})
        chunks.append({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20}})
    return events(*chunks, "[DONE]") if finish_reason is not None else events(*chunks)


def events(*data: object) -> Reply:
    """A stream of events with this data, each as JSON unless it is text."""
    lines = [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in data]
    body = "".join(f"data: {line}\n\n" for line in lines)
    return Reply(body=body, headers={"Content-Type": "text/event-stream; charset=utf-8"})


def piecemeal(reply: Reply, length: int) -> Reply:
    """The same body, so many bytes at a time."""
    pieces = [reply.content[at : at + length] for at in range(0, len(reply.content), length)]

    async def chunks() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    return Reply(reply.status, headers=reply.headers, chunks=chunks())


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
        try:
            yield model, server
        finally:
            await model.aclose()


async def reply_to(answer: Reply, **settings: Any) -> ChatReply:
    async with endpoint(always(answer), **settings) as (model, _):
        return await model.complete(request(tools=(SEARCH,)))
