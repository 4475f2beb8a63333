"""What an endpoint seals of a model's thoughts comes back to it, whole and alone."""

from typing import Any

import pytest

from deer.models import ChatMessage, ChatReply, RawToolCall, SealedThoughts, Speaker
from tests.unit.providers.model_endpoint import (
    GOOD,
    SEARCH,
    completion,
    endpoint,
    refusal,
    reply_to,
    request,
    streamed,
    tool_calls,
)
from tests.unit.providers.web_server import Reply, always, in_turn

SIGNED: dict[str, Any] = {"extra_content": {"google": {"thought_signature": "Eabc"}}}
WHOLE = [
    {"type": "reasoning.text", "text": "I should search", "index": 0, "signature": "s"},
    {"type": "reasoning.encrypted", "data": "eHl6", "index": 1, "id": "r1"},
]
PIECES = (
    [{"type": "reasoning.text", "text": "I should", "index": 0, "signature": None}],
    [{"type": "reasoning.text", "text": " search", "index": 0}],
    [{"type": "reasoning.text", "index": 0, "signature": "s"}, WHOLE[1]],
)


def called(id_: str = "a", **more: Any) -> dict[str, Any]:
    """A call as an endpoint sends it."""
    return {"id": id_, "type": "function", "function": {"name": "web_search", "arguments": "{}"}, **more}


def sealed_of(reply: ChatReply) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """The sealed fields of the message and of its calls."""
    assert reply.sealed
    return reply.sealed.message, reply.sealed.calls


@pytest.mark.parametrize(
    "answer",
    [
        tool_calls(called(**SIGNED), called("b")),
        streamed({"tool_calls": [{"index": 0, **called(**SIGNED)}]}, {"tool_calls": [{"index": 1, **called("b")}]}),
        streamed({"tool_calls": [{"index": 0, **called()}, {"index": 1, **called("b")}, {"index": 0, **SIGNED}]}),
    ],
)
async def test_signatures_stay_with_their_calls(answer: Reply) -> None:
    """Of two calls at once the first has its signature, streamed or not, at once or later."""
    assert sealed_of(await reply_to(answer)) == ({}, (SIGNED, {}))


async def test_details_are_put_together_as_they_were() -> None:
    """Pieces with one index and type are one detail; without an index each stays on its own."""
    pieces = ({"reasoning_details": piece} for piece in PIECES)
    reply = await reply_to(streamed(*pieces, {"tool_calls": [{"index": 0, **called()}]}))
    assert sealed_of(reply) == ({"reasoning_details": WHOLE}, ({},))
    loose = [{"type": "reasoning.text", "text": text} for text in ("one", "two")]
    reply = await reply_to(streamed({"reasoning_details": loose}, {"tool_calls": [{"index": 0, **called()}]}))
    assert sealed_of(reply)[0] == {"reasoning_details": loose}


@pytest.mark.parametrize("details", ["words", {"a": 1}, [], [None], 7, None])
async def test_nothing_else_is_sealed(details: Any) -> None:
    """Details of an unknown shape, and those of an answer without calls, are left aside."""
    stream = streamed({"reasoning_details": details, "tool_calls": [{"index": 0, **called()}]})
    assert (await reply_to(stream)).sealed is None
    assert (await reply_to(streamed({"reasoning_details": WHOLE, "content": "Yes."}))).sealed is None


def loop_of(reply: ChatReply) -> tuple[ChatMessage, ...]:
    """A conversation in which a reply was followed by the result of its call."""
    move = ChatMessage(speaker=Speaker.ASSISTANT, calls=reply.calls, reasoning="hm", sealed=reply.sealed)
    result = ChatMessage(speaker=Speaker.TOOL, content="found", call_id=reply.calls[0].id)
    return (ChatMessage(speaker=Speaker.USER, content="Look."), move, result)


async def test_what_was_sealed_is_sent_back_in_its_place() -> None:
    """Signatures are on their calls and details in the message, in place of the reasoning that they hold."""
    sealing = completion({"content": None, "reasoning_details": WHOLE, "tool_calls": [called(**SIGNED)]}, "tool_calls")
    async with endpoint(in_turn(sealing, GOOD)) as (model, server):
        reply = await model.complete(request(tools=(SEARCH,)))
        await model.complete(request(messages=loop_of(reply), tools=(SEARCH,)))
    move = server.asked[1].json["messages"][1]
    assert move["reasoning_details"] == WHOLE
    assert move["tool_calls"][0]["extra_content"] == SIGNED["extra_content"]
    assert "reasoning_content" not in move


async def test_what_another_model_sealed_is_left_out() -> None:
    """A signature is refused by whoever did not give it."""
    sealed = SealedThoughts(sealed_by="another", message={"reasoning_details": WHOLE}, calls=(SIGNED,))
    reply = ChatReply(content="", calls=(RawToolCall(id="a", name="web_search", arguments="{}"),), sealed=sealed)
    async with endpoint(always(GOOD)) as (model, server):
        await model.complete(request(messages=loop_of(reply), tools=(SEARCH,)))
    move = server.asked[0].json["messages"][1]
    assert "reasoning_details" not in move
    assert "extra_content" not in move["tool_calls"][0]
    assert move["reasoning_content"] == "hm"


async def test_an_endpoint_that_refuses_its_own_seals_is_asked_without() -> None:
    """A gateway that passes the field on and does not take it back costs one refusal, once and for all."""
    refused = refusal(400, "messages.1.tool_calls.0.extra_content: Extra inputs are not permitted")
    async with endpoint(in_turn(tool_calls(called(**SIGNED)), refused, GOOD, GOOD)) as (model, server):
        reply = await model.complete(request(tools=(SEARCH,)))
        for _ in range(2):
            await model.complete(request(messages=loop_of(reply), tools=(SEARCH,)))
    moves = [asked.json["messages"][1]["tool_calls"][0] for asked in server.asked[1:]]
    assert ["extra_content" in move for move in moves] == [True, False, False]
