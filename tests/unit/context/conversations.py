"""Conversations of agents as they are sent to models, long and short, for the tests of fitting them."""

import json
from collections.abc import Iterator, Sequence

from deer.models import (
    AnyBrief,
    ChatMessage,
    Check,
    CheckedClaim,
    FindingBrief,
    RawToolCall,
    Role,
    Source,
    SourceBrief,
    Speaker,
    StepStatus,
    ToolReply,
)
from deer.ports import ChatRequest
from deer.prompts import output_for, render, tool_message, tools_for

LOCALE = "en-US"
SENTENCE = "The measured value of the sample is 42.5 percent, as the laboratory wrote. "


def prose(chars: int) -> str:
    """A text of sentences, of this length."""
    return (SENTENCE * (chars // len(SENTENCE) + 1))[:chars]


def finding(step_id: str, chars: int, claims: int = 0) -> FindingBrief:
    """A finding with a summary of so many characters."""
    said = tuple(
        CheckedClaim(text=f"Claim {at}: {SENTENCE}", source_id=f"{step_id}-{at}", quote=SENTENCE, check=Check.VERIFIED)
        for at in range(1, claims + 1)
    )
    return FindingBrief(
        step_id=step_id, title=f"Step {step_id}", status=StepStatus.DONE, summary=prose(chars), claims=said
    )


def source(source_id: str, chars: int = 500) -> SourceBrief:
    """A source as a reporter or planner is shown it."""
    address = f"https://www.example.org/{source_id}"
    return SourceBrief(id=source_id, title=f"Title of {source_id}", url=address, text=prose(chars))


def search_reply(call_id: str, prefix: str, hits: int, chars: int = 500) -> ChatMessage:
    """What a search brought, as the model is shown it."""
    found = tuple(
        Source(id=f"{prefix}-{at}", url=f"https://www.example.org/{prefix}/{at}", title="A page", summary=prose(chars))
        for at in range(1, hits + 1)
    )
    return tool_message(ToolReply(call_id=call_id, hits=found), LOCALE)


def page_reply(call_id: str, source_id: str, chars: int) -> ChatMessage:
    """What a page holds, as the model is shown it."""
    page = Source(
        id=source_id, url=f"https://www.example.org/{source_id}", title="A page", texts=(prose(chars),), read=True
    )
    return tool_message(ToolReply(call_id=call_id, page=page), LOCALE)


def turn(number: int, sizes: Sequence[int], thought: str = "") -> tuple[ChatMessage, ...]:
    """A turn that reads one page for each size and is shown so many characters of it; 0 is a search without hits."""
    calls = tuple(
        RawToolCall(id=f"call_{number}_{at}", name="read_page", arguments=json.dumps({"url": f"https://e.org/{at}"}))
        for at in range(len(sizes))
    )
    replies = tuple(
        page_reply(call.id, f"s1-{number}{at}", size) if size else search_reply(call.id, f"s1-{number}{at}", 0)
        for at, (call, size) in enumerate(zip(calls, sizes, strict=True))
    )
    return (ChatMessage(speaker=Speaker.ASSISTANT, content=thought, calls=calls), *replies)


def request_of(brief: AnyBrief, role: Role, turns: Sequence[Sequence[ChatMessage]] = ()) -> ChatRequest:
    """The request that a role makes after these turns."""
    messages = (*render(brief), *(message for said in turns for message in said))
    return ChatRequest(role=role, brief=brief, messages=messages, tools=tools_for(brief), output=output_for(brief))


def unpaired(messages: Sequence[ChatMessage]) -> Iterator[str]:
    """Calls without a reply right after them, and replies without a call right before."""
    owed: list[str] = []
    for message in messages:
        if message.speaker is Speaker.TOOL:
            if message.call_id in owed:
                owed.remove(message.call_id)
            else:
                yield f"a reply to {message.call_id}"
            continue
        yield from owed
        owed = [call.id for call in message.calls]
    yield from owed
