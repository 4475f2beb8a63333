"""The scripted services are believed by every other test, so the official clients must take them for the real ones."""

import asyncio
import base64
import contextlib
import json

import openai
import pytest
from tavily import AsyncTavilyClient  # type: ignore[import-untyped]  # the package ships no types
from tavily.errors import InvalidAPIKeyError  # type: ignore[import-untyped]  # the package ships no types

from tests.eventually import eventually
from tests.scripted import SMALL_PLAN, Failure, InsideListener, Json, ScriptedServices, leaked_canaries, most_at_once
from tests.scripted.canaries import MODEL_KEY, SEARCH_KEY
from tests.scripted.replies import order_fault

HANDOFF = {"type": "function", "function": {"name": "handoff_to_planner", "parameters": {"type": "object"}}}
PLAN_FORMAT = {"type": "json_object"}


def _client(services: ScriptedServices) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key=MODEL_KEY, base_url=services.model_url, max_retries=0)


class _Search:
    def __init__(self, key: str, services: ScriptedServices) -> None:
        self._client = AsyncTavilyClient(key, api_base_url=services.url)

    async def __call__(self, query: str) -> Json:
        found: Json = await self._client.search(query)
        return found

    async def aclose(self) -> None:
        await self._client.close()


async def test_roles_are_told_apart_and_counted(scripted: ScriptedServices) -> None:
    """A call is answered by the role that its tools or its output format tell, and logged under it."""
    async with _client(scripted) as client:
        talk = client.chat.completions
        first = await talk.create(
            model="m",
            messages=[{"role": "user", "content": "Why?"}],
            tools=[HANDOFF],  # type: ignore[list-item]
        )
        second = await talk.create(
            model="m",
            messages=[{"role": "user", "content": "Plan."}],
            response_format=PLAN_FORMAT,  # type: ignore[call-overload]
        )
    calls = first.choices[0].message.tool_calls
    assert calls
    assert calls[0].type == "function"
    assert json.loads(calls[0].function.arguments)["research_topic"] == "Why?"
    assert second.choices[0].message.content == SMALL_PLAN
    assert [call.role for call in scripted.log.calls("model")] == ["coordinator", "planner"]


async def test_a_stream_ends_with_usage(scripted: ScriptedServices) -> None:
    """A streamed answer has the same words as a plain one, and tells what it cost."""
    scripted.scripts["reporter"] = "word " * 30
    async with _client(scripted) as client:
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "system", "content": "You are the reporter."}], stream=True
        )
        chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "word " * 30
    assert chunks[-1].usage
    assert chunks[-1].usage.total_tokens == 120


async def test_failures_come_as_often_as_planned(scripted: ScriptedServices) -> None:
    """A planned failure carries its status and headers, and the next call is answered."""
    scripted.fail("planner", Failure(429, headers={"retry-after": "7"}))
    async with _client(scripted) as client:
        for attempt in (1, 2):
            call = client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": "Plan."}],
                response_format=PLAN_FORMAT,  # type: ignore[call-overload]
            )
            if attempt == 1:
                with pytest.raises(openai.RateLimitError) as refused:
                    await call
                assert refused.value.response.headers["retry-after"] == "7"
            else:
                await call
    assert [call.status for call in scripted.log.calls("planner")] == [429, 200]


async def test_search_answers_like_tavily_and_pages_can_be_quoted(scripted: ScriptedServices) -> None:
    """The official search client reads the results, the wrong key is refused, and a page has what a claim quotes."""
    async with contextlib.aclosing(_Search(SEARCH_KEY, scripted)) as search:
        found = await search("facts on subject-a1")
    assert [result["url"].rsplit("/", 1)[1] for result in found["results"]] == [f"subject-a1-{i}" for i in (1, 2, 3)]
    assert "measured value of subject-a1" in found["results"][0]["content"]
    async with contextlib.aclosing(_Search("tvly-other", scripted)) as search:
        with pytest.raises(InvalidAPIKeyError):
            await search("x")


async def test_a_gate_holds_calls_until_it_is_opened(scripted: ScriptedServices) -> None:
    """Held calls stay open at the same time and are answered when the gate opens."""
    gate = scripted.hold("search")
    async with contextlib.aclosing(_Search(SEARCH_KEY, scripted)) as search:
        waiting = [asyncio.create_task(search(f"subject-{i}")) for i in range(2)]
        await eventually(lambda: len(gate.caught) == 2, "both searches are held")
        assert len(scripted.log.open()) == 2
        gate.open()
        await asyncio.gather(*waiting)
    assert most_at_once(scripted.log.calls("search")) == 2


def test_the_message_order_is_checked_strictly() -> None:
    """A conversation without exactly one tool message for each call is refused, with the reason."""
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}, {"id": "b"}]}
    answers = [{"role": "tool", "tool_call_id": "b"}, {"role": "tool", "tool_call_id": "a"}]
    assert order_fault([call, *answers, {"role": "user"}]) is None
    assert "['a']" in str(order_fault([call, answers[0]]))
    assert "no open call" in str(order_fault([call, *answers, answers[0]]))


def test_canaries_are_found_in_every_form() -> None:
    """A key is recognised as it is, URL-encoded and inside base64 at any offset."""
    assert leaked_canaries(f"key={MODEL_KEY}") == [MODEL_KEY]
    assert leaked_canaries("tvly-canary%2F9c1d%2Bsearch") == [SEARCH_KEY]
    for before in ("", "a", "ab"):
        assert leaked_canaries(base64.b64encode(f"{before}{MODEL_KEY} and more".encode()).decode()) == [MODEL_KEY]
    assert leaked_canaries("nothing of the kind") == []


async def test_the_inside_listener_counts_who_connects() -> None:
    """One connection is one hit."""
    async with InsideListener() as inside:
        _, writer = await asyncio.open_connection("127.0.0.1", inside.port)
        await eventually(lambda: inside.hits == 1, "the hit")
        writer.close()
        await writer.wait_closed()
