"""What a step has seen so far, read back from the messages of its conversation."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from deer.models import ChatMessage, Speaker
from deer.providers.extractive.ranking import SeenText


@dataclass(frozen=True)
class SeenHit:
    """A hit of a search; `score` is 0 where the engine gave none."""

    id: str
    title: str
    url: str
    summary: str
    score: float


@dataclass
class Transcript:
    """Hits in the order in which they came, pages, errors, and which tools were called how often."""

    hits: list[SeenHit] = field(default_factory=list)
    pages: list[SeenText] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    called: dict[str, int] = field(default_factory=dict)
    turns: int = 0

    def texts(self) -> list[SeenText]:
        """Everything that can be quoted: pages whole, hits that were not read by their summary."""
        read = {page.source_id for page in self.pages} | {page.url for page in self.pages}
        summaries: dict[str, SeenText] = {}
        for hit in self.hits:
            if hit.id not in read and hit.url not in read:
                summaries.setdefault(hit.id, SeenText(hit.id, hit.title, hit.url, hit.summary, is_whole=False))
        return [*self.pages, *summaries.values()]


def read_transcript(messages: Sequence[ChatMessage]) -> Transcript:
    """Read the messages of a step. A tool's reply that is not understood counts as an error."""
    seen = Transcript()
    for message in messages:
        if message.speaker is Speaker.ASSISTANT:
            seen.turns += 1
            for call in message.calls:
                seen.called[call.name] = seen.called.get(call.name, 0) + 1
        elif message.speaker is Speaker.TOOL:
            _take_reply(seen, message.content)
    return seen


def _take_reply(seen: Transcript, content: str) -> None:
    try:
        reply = json.loads(content)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        seen.errors.append("a tool's reply was not understood")
    elif isinstance(results := reply.get("results"), list):
        seen.hits.extend(_hit(result) for result in results if isinstance(result, dict) and result.get("id"))
    elif reply.get("source_id") and (text := _text_of(reply)):
        _take_page(seen, reply, text)
    elif error := reply.get("error"):
        seen.errors.append(" ".join(str(error).split()))


def _text_of(page: dict[str, Any]) -> str:
    """The text of a page, or its passages one below the other; empty where there is neither."""
    if isinstance(text := page.get("text"), str):
        return text
    passages = page.get("passages")
    shown = passages if isinstance(passages, list) else []
    return "\n\n".join(str(passage["text"]) for passage in shown if isinstance(passage, dict) and "text" in passage)


def _take_page(seen: Transcript, reply: dict[str, Any], text: str) -> None:
    source_id, url = str(reply["source_id"]), str(reply.get("url") or "")
    if source_id not in {page.source_id for page in seen.pages}:
        is_whole = not reply.get("cut", False)
        seen.pages.append(SeenText(source_id, str(reply.get("title") or ""), url, text, is_whole))


def _hit(result: dict[str, Any]) -> SeenHit:
    score = result.get("score")
    return SeenHit(
        id=str(result["id"]),
        title=str(result.get("title") or ""),
        url=str(result.get("url") or ""),
        summary=str(result.get("summary") or ""),
        score=float(score) if isinstance(score, int | float) else 0.0,
    )
