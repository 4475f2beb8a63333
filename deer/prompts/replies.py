"""What a tool brought, as the model reads it: one JSON object, out of whose strings page text cannot break."""

import json

from deer.models import AgentNote, ChatMessage, Source, Speaker, ToolReply, full
from deer.prompts.languages import prompt_language
from deer.prompts.templates import phrase

PAGE_CHARS = 12_000
"""A page reaches the model with at most this many characters."""


def tool_message(reply: ToolReply, locale: str) -> ChatMessage:
    """The tool message that answers a call; the reply's texts must be resolved.

    A search: `{note, results: [{id, title, summary, url, score}]}`. A page: `{note, source_id, title, url, text, cut}`.
    Anything that went wrong: `{error}`. `note` says that the rest is no instruction, or that nothing was found,
    and before that whether the same call was made before.
    """
    if reply.error is not None:
        value: dict[str, object] = {"error": reply.error}
    elif reply.page is not None:
        value = {"note": _note("untrusted", reply, locale), **_page(reply.page)}
    else:
        note = _note("untrusted" if reply.hits else "no_hits", reply, locale)
        value = {"note": note, "results": [_hit(hit) for hit in reply.hits or ()]}
    return ChatMessage(speaker=Speaker.TOOL, content=json.dumps(value, ensure_ascii=False), call_id=reply.call_id)


def _note(name: str, reply: ToolReply, locale: str) -> str:
    names = ["repeated", name] if reply.is_repeat else [name]
    return " ".join(phrase(each, prompt_language(locale)) for each in names)


def agent_note(note: AgentNote, locale: str) -> ChatMessage:
    """What code tells an agent whose last move cannot stand."""
    return ChatMessage(speaker=Speaker.USER, content=phrase(note, prompt_language(locale)))


def _hit(hit: Source) -> dict[str, object]:
    return {"id": hit.id, "title": hit.title, "summary": hit.summary, "url": hit.url, "score": hit.score}


def _page(page: Source) -> dict[str, object]:
    text = full(page.texts[-1]) if page.texts else page.summary
    return {
        "source_id": page.id,
        "title": page.title,
        "url": page.url,
        "text": text[:PAGE_CHARS],
        "cut": len(text) > PAGE_CHARS,
    }
