"""Streamed answers of a model: put together from pieces, and refused when they break off."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from deer.errors import FailureKind, ServiceError
from deer.models import RawToolCall, Usage
from tests.unit.providers.model_endpoint import (
    GOOD,
    SEARCH,
    endpoint,
    events,
    piecemeal,
    reply_to,
    request,
    streamed,
)
from tests.unit.providers.web_server import Reply, always, in_turn

STREAM = {"Content-Type": "text/event-stream"}


def spoken(text: str, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}], **more}


async def failure_of(answer: Reply, **settings: Any) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        await reply_to(answer, **settings)
    assert caught.value.__cause__ is None
    return caught.value


async def test_a_stream_becomes_one_reply() -> None:
    """Text, usage, model and the reason of the end are those of the whole answer."""
    reply = await reply_to(streamed({"role": "assistant", "content": ""}, {"content": "Ye"}, {"content": "s."}))
    assert reply.content == "Yes."
    assert reply.usage == Usage(input_tokens=100, output_tokens=20, model_calls=1, models=("m-1",), unpriced_calls=1)
    assert not reply.usage_is_estimated
    assert reply.model == "m-1"
    assert not reply.was_cut
    assert (await reply_to(streamed({"content": "Half of"}, finish_reason="length"))).was_cut


@pytest.mark.parametrize("length", [1, 2, 3, 7, 50])
async def test_pieces_of_any_length_are_read(length: int) -> None:
    """Network pieces may end anywhere, within a character, a line or a tag, and nothing changes."""
    call = {"index": 0, "id": "a", "function": {"name": "web_search", "arguments": '{"query": "ж研"}'}}
    stream = streamed(
        {"content": "<thi"}, {"content": "nk>hm</thi"}, {"content": "nk>Да, 研究 😀"}, {"tool_calls": [call]}
    )
    reply = await reply_to(piecemeal(stream, length))
    assert reply.content == "Да, 研究 😀"
    assert [json.loads(call.arguments) for call in reply.calls] == [{"query": "ж研"}]


YES = b'{"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]}'
YE, S = b'{"choices":[{"delta":{"content":"Ye"}}]}', b'{"choices":[{"delta":{"content":"s."}}]}'
PARTS = b'{"choices":[{"delta":{"content":[{"type":"text","text":"Yes."}]}}]}'
WHOLE = b'{"choices":[{"message":{"content":"Yes."},"finish_reason":"stop"}]}'
OTHER = b'{"choices":[{"index":1,"delta":{"content":"No."},"finish_reason":"stop"}]}'
BODIES = {
    "carriage returns": b": hello\r\n\r\ndata: %b\r\n\r\ndata: [DONE]\r\n\r\n" % YES,
    "byte order mark": b"\xef\xbb\xbfdata:%b\n\ndata:[DONE]" % YES,
    "several lines": b"id: 1\nevent: message\ndata: %b\n\n" % YES.replace(b"[", b"\ndata: ["),
    "no blank lines": b"data: %b\ndata: %b\ndata: [DONE]\n" % (YE, S),
    "no end mark": b"data: %b\n\n" % YES,
    "empty data": b"data: null\n\ndata: \n\ndata: %b\n\ndata: [DONE]\n\n" % PARTS,
    "a message": b"data: %b\n\n" % WHOLE,
    "pieces, then the message": b"data: %b\n\ndata: %b\n\n" % (YE, WHOLE),
    "other choices": b"data: %b\n\ndata: %b\n\n" % (OTHER, YES),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json", "text/plain"])
async def test_every_manner_of_writing_events_is_read(body: bytes, content_type: str) -> None:
    """Comments, marks, line ends, missing blank lines, JSON over lines and whole messages: the text is the same."""
    assert (await reply_to(Reply(body=body, headers={"Content-Type": content_type}))).content == "Yes."


def part(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    """A piece of one call."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"tool_calls": [{**more, "function": function}]}


SEARCHES = [
    (
        "by index",
        [part("web_search", "", index=0, id="a"), part(None, '{"que', index=0), part(None, 'ry":"x"}', index=0)],
    ),
    ("without index", [part("web_search", id="a"), part(None, '{"que'), part(None, 'ry":"x"}')]),
    ("without index and id", [part("web_search"), part(None, '{"que'), part(None, 'ry":"x"}')]),
    ("id repeated", [part("web_search", '{"que', id="a"), part(None, 'ry":"x"}', id="a")]),
    ("name repeated", [part("web_search", '{"que', index=0), part("web_search", 'ry":"x"}', index=0)]),
    ("name repeated without index", [part("web_search", '{"que'), part("web_search", 'ry":"x"}')]),
    ("name in parts", [part("web_", index=0), part("search", '{"query":', index=0), part(None, '"x"}', index=0)]),
    ("empty id later", [part("web_search", '{"que', index=0, id="a"), part("", 'ry":"x"}', index=0, id="")]),
    ("an object", [part("web_search", {"query": "x"}, index=0, id="a")]),
]


@pytest.mark.parametrize("pieces", [pieces for _, pieces in SEARCHES], ids=[name for name, _ in SEARCHES])
async def test_a_call_over_several_pieces_is_whole(pieces: list[dict[str, Any]]) -> None:
    """Case L09: text first, then a call in pieces: the call has its whole arguments, the sentence stays text."""
    reply = await reply_to(streamed({"content": "Let me look."}, *pieces, finish_reason="tool_calls"))
    (call,) = reply.calls
    assert (call.name, json.loads(call.arguments)) == ("web_search", {"query": "x"})
    assert reply.content == "Let me look."


INTERLEAVED = [
    part("web_search", "", index=0, id="a"),
    part("read_page", "", index=1, id="b"),
    part(None, '{"query"', index=0),
    part(None, '{"url"', index=1),
    part(None, ':"x"}', index=0),
    part(None, ':"y"}', index=1),
]
ONE_INDEX = [part("web_search", '{"query":"x"}', index=0, id="a"), part("read_page", '{"url":"y"}', index=0, id="b")]
NO_IDS = [part("web_search", '{"query":"x"}', index=0), part("read_page", '{"url":"y"}', index=0)]
NO_INDEX = [part("web_search", '{"query":"x"}'), part("read_page", '{"url":'), part(None, '"y"}')]
TOGETHER = [{"tool_calls": [*ONE_INDEX[0]["tool_calls"], {**ONE_INDEX[1]["tool_calls"][0], "index": 1}]}]


@pytest.mark.parametrize("pieces", [INTERLEAVED, ONE_INDEX, NO_IDS, NO_INDEX, TOGETHER])
async def test_two_calls_are_kept_apart(pieces: list[dict[str, Any]]) -> None:
    """Case L09: interleaved by index, under one index, without ids or index: two calls, each with its own arguments."""
    reply = await reply_to(streamed(*pieces, finish_reason="tool_calls"))
    assert [(call.name, json.loads(call.arguments)) for call in reply.calls] == [
        ("web_search", {"query": "x"}),
        ("read_page", {"url": "y"}),
    ]
    assert len({call.id for call in reply.calls}) == 2


async def test_a_call_without_arguments_has_an_empty_object() -> None:
    """No argument piece at all means no arguments, as JSON."""
    reply = await reply_to(streamed(part("web_search", index=0, id="a"), finish_reason="tool_calls"))
    assert reply.calls == (RawToolCall(id="a", name="web_search", arguments="{}"),)


@pytest.mark.parametrize(
    "pieces",
    [
        [{"reasoning_content": "secret "}, {"reasoning_content": "thought"}],
        [{"reasoning": "secret "}, {"reasoning": "thought"}],
        [{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "secret thought"}]}]}],
    ],
)
async def test_reasoning_is_kept_beside_the_answer(pieces: list[dict[str, Any]]) -> None:
    """What endpoints send as reasoning is `reasoning` and never content."""
    reply = await reply_to(streamed(*pieces, {"content": "Yes."}))
    assert (reply.content, reply.reasoning) == ("Yes.", "secret thought")


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["<th", "ink>secret</", "think>", "Yes."], "Yes."),
        (["secret\n</thi", "nk>\nYes."], "Yes."),
        (["<think", ">secret and no end"], ""),
    ],
)
async def test_tags_of_reasoning_may_be_split(pieces: list[str], text: str) -> None:
    """Closed, unopened and unclosed blocks whose tags come in pieces leave no trace in the content."""
    assert (await reply_to(streamed(*({"content": piece} for piece in pieces)))).content == text


async def test_usage_is_estimated_where_a_stream_tells_none() -> None:
    """Without a count at the end, tokens are worked out from the texts and marked."""
    reply = await reply_to(
        events(spoken("word " * 40), {"choices": [{"delta": {}, "finish_reason": "stop"}]}, "[DONE]")
    )
    assert (reply.usage.output_tokens, reply.usage.model_calls, reply.usage_is_estimated) == (50, 1, True)
    assert reply.usage.input_tokens > 0


async def test_the_last_count_of_usage_counts() -> None:
    """Endpoints that count as they go are believed at the end."""
    counts = ({"prompt_tokens": 9, "completion_tokens": n} for n in (1, 2))
    reply = await reply_to(events(*(spoken("x", usage=usage) for usage in counts), "[DONE]"))
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (9, 2)


ERRORS = [
    ({"error": {"message": "slow down", "code": 429}}, FailureKind.RATE_LIMITED, True),
    ({"error": {"message": "slow down", "type": "rate_limit_error"}}, FailureKind.RATE_LIMITED, True),
    ({"error": {"message": "no", "code": "insufficient_quota"}}, FailureKind.QUOTA_SPENT, False),
    ({"error": {"message": "no", "code": "context_length_exceeded"}}, FailureKind.TOO_LONG, False),
    ({"error": "upstream"}, FailureKind.UNAVAILABLE, True),
    ({"object": "error", "message": "overloaded", "code": 503}, FailureKind.UNAVAILABLE, True),
    (spoken("Y", error={"message": "provider fell over", "code": 502}), FailureKind.UNAVAILABLE, True),
    ({"choices": [{"delta": {}, "finish_reason": "error"}]}, FailureKind.UNAVAILABLE, True),
    ({"choices": [{"delta": {}, "finish_reason": "content_filter"}]}, FailureKind.REJECTED, False),
]


@pytest.mark.parametrize(("chunk", "kind", "retryable"), ERRORS)
async def test_an_error_inside_a_stream_is_one(chunk: dict[str, Any], kind: FailureKind, retryable: bool) -> None:
    """After some text an error comes: it is mapped like the same error in a body, and the text is dropped."""
    error = await failure_of(events(spoken("Half a"), chunk, "[DONE]"))
    assert (error.kind, error.retryable) == (kind, retryable)


async def test_an_error_event_is_an_error() -> None:
    """An event named `error` is one, whatever its data looks like."""
    body = b'data: {"choices":[{"delta":{"content":"Y"}}]}\n\nevent: error\ndata: {"message": "fell over"}\n\n'
    error = await failure_of(Reply(body=body, headers=STREAM))
    assert error.kind is FailureKind.UNAVAILABLE
    assert "fell over" in str(error)


async def broken(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
    raise ConnectionError("cut")


HALF = b'data: {"choices":[{"delta":{"content":"Half a"}}]}\n\n'
LAST = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'


@pytest.mark.parametrize(
    "answer",
    [
        streamed({"content": "Half a"}, finish_reason=None),
        events(),
        events(": only a comment"),
        Reply(headers=STREAM, chunks=broken(HALF)),
        Reply(headers=STREAM, chunks=broken(b"")),
        Reply(headers={"Content-Type": "application/json"}, chunks=broken(b'{"choices": [{"mess')),
    ],
    ids=["no end", "nothing", "comment", "cut", "cut at once", "cut body"],
)
async def test_a_stream_that_breaks_off_is_a_failure_worth_a_retry(answer: Reply) -> None:
    """Case L17: without its end an answer is none, whether the connection was closed or cut."""
    error = await failure_of(answer)
    assert error.retryable
    assert error.kind in (FailureKind.UNAVAILABLE, FailureKind.MALFORMED)
    assert "Half" not in str(error)


@pytest.mark.parametrize("after", [b"", b'data: {"usage": {"prompt_tok'], ids=["nothing", "half an event"])
async def test_what_breaks_off_after_its_end_is_whole(after: bytes) -> None:
    """A connection that is cut after the reason of the end loses the count of tokens and nothing else."""
    reply = await reply_to(Reply(headers=STREAM, chunks=broken(HALF, LAST + after)))
    assert (reply.content, reply.usage_is_estimated) == ("Half a", True)


async def test_a_garbled_event_is_worth_few_attempts() -> None:
    """An event that is no JSON loses a part of the answer, so that all of it is asked for again, three times in all."""
    error = await failure_of(events('{"choices": [{"delta', spoken("x"), "[DONE]"))
    assert (error.kind, error.retryable, error.max_attempts) == (FailureKind.MALFORMED, True, 3)


@pytest.mark.parametrize("keeps_alive", [False, True])
async def test_a_stall_is_a_failure_worth_a_retry(keeps_alive: bool) -> None:
    """No token within the stall timeout is Unavailable, also when comments and empty pieces go on coming."""
    quiet = asyncio.Event()

    async def stalling() -> AsyncIterator[bytes]:
        yield HALF
        while keeps_alive and not quiet.is_set():
            yield b': alive\n\ndata: {"choices":[{"delta":{"content":""}}]}\n\n'
            await asyncio.sleep(0.02)
        await quiet.wait()

    async with endpoint(always(Reply(headers=STREAM, chunks=stalling())), stall_timeout=timedelta(seconds=0.2)) as (
        model,
        _,
    ):
        with pytest.raises(ServiceError, match=r"fell silent for 0\.2 s in the middle of its answer") as caught:
            await model.complete(request())
        quiet.set()
    assert (caught.value.kind, caught.value.retryable) == (FailureKind.UNAVAILABLE, True)


async def test_a_slow_stream_may_take_longer_than_the_timeout() -> None:
    """The timeout bounds the wait for the first token, not the length of an answer that goes on coming."""

    async def slow() -> AsyncIterator[bytes]:
        for _ in range(8):
            yield HALF
            await asyncio.sleep(0.05)
        yield LAST

    slow_reply = Reply(headers=STREAM, chunks=slow())
    reply = await reply_to(slow_reply, timeout=timedelta(seconds=0.3), stall_timeout=timedelta(seconds=2))
    assert reply.content == "Half a" * 8


async def test_an_endpoint_that_does_not_hang_up_is_not_waited_for() -> None:
    """After the end of the stream the answer is there, though the connection stays open."""
    quiet = asyncio.Event()

    async def lingering() -> AsyncIterator[bytes]:
        yield HALF + LAST + b"data: [DONE]\n\n"
        await quiet.wait()

    async with endpoint(always(Reply(headers=STREAM, chunks=lingering()))) as (model, _):
        async with asyncio.timeout(3):
            assert (await model.complete(request())).content == "Half a"
        quiet.set()


async def test_connections_are_used_again() -> None:
    """A stream is read to its end, so that the next call needs no new connection."""
    async with endpoint(in_turn(streamed({"content": "Yes."}), streamed({"content": "No."}), GOOD)) as (model, server):
        said = [(await model.complete(request(tools=(SEARCH,)))).content for _ in range(3)]
    assert said == ["Yes.", "No.", "Yes."]
    assert server.hits == 1


async def test_a_long_stream_is_read_in_little_time() -> None:
    """Two thousand pieces, a report of eight pages, are put together within a second of computing time."""
    stream = streamed(*({"content": "word "} for _ in range(2_000)))
    before = time.process_time()
    reply = await reply_to(stream)
    assert len(reply.content) == 10_000
    assert time.process_time() - before < 1
