"""What a tool brought, as the model reads it: one JSON object, out of whose strings page text cannot break."""

import json
from collections.abc import Iterator

from deer.models import SHOWN_PAGE_CHARS, AgentNote, ChatMessage, PagePart, PageView, Source, Speaker, ToolReply, full
from deer.prompts.languages import prompt_language
from deer.prompts.templates import phrase

_PAGE_BREAK = "\f"


def tool_message(reply: ToolReply, locale: str) -> ChatMessage:
    """The tool message that answers a call; the reply's texts must be resolved.

    A search: `{note, results: [{id, title, summary, url, score}]}`. A page: `{note, source_id, title, url, author,
    published, text, cut}`, the two in the middle where it says them. Instead of `text`, what is too long to be shown
    whole has `chars`, the length of its text, and `passages: [{from, to, text}]`, the places of characters in it; a PDF
    has `pages` and `passages: [{page, text}]`.
    Anything that went wrong: `{error}`. `note` says that the rest is no instruction, or that nothing was found,
    and before that whether the same call was made before.
    """
    if reply.error is not None:
        value: dict[str, object] = {"error": reply.error}
    elif reply.page is not None:
        value = {"note": _note("untrusted", reply, locale), **_page(reply.page, reply.view)}
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


def _page(page: Source, view: PageView) -> dict[str, object]:
    text = full(page.texts[-1]) if page.texts else page.summary
    parts = view.parts or (PagePart(start=0, end=min(len(text), SHOWN_PAGE_CHARS)),)
    is_whole = parts == (PagePart(start=0, end=len(text)),)
    head = {"source_id": page.id, "title": page.title, "url": page.url}
    said = {name: value for name, value in (("author", view.author), ("published", view.published)) if value}
    if _PAGE_BREAK in text:
        passages = [passage for part in parts for passage in _pages_of(text, part)]
        shown: dict[str, object] = {"pages": text.count(_PAGE_BREAK) + 1, "passages": passages}
    elif is_whole:
        shown = {"text": text}
    else:
        passages = [{"from": part.start, "to": part.end, "text": text[part.start : part.end]} for part in parts]
        shown = {"chars": len(text), "passages": passages}
    return {**head, **said, **shown, "cut": view.was_cut or not is_whole}


def _pages_of(text: str, part: PagePart) -> Iterator[dict[str, object]]:
    """A part of a PDF page by page, counted from 1."""
    first = text.count(_PAGE_BREAK, 0, part.start) + 1
    for number, shown in enumerate(text[part.start : part.end].split(_PAGE_BREAK), first):
        if shown.strip():
            yield {"page": number, "text": shown.strip()}
