"""What a tool brought, as the model reads it: one JSON object, from whose strings page text cannot break out."""

import json

from deer.models import Source, ToolReply, full

PAGE_CHARS = 12_000
"""A page reaches the model with at most this many characters."""


def tool_reply_text(reply: ToolReply) -> str:
    """The content of a tool message; the reply's texts must be resolved.

    A search: `{"results": [{id, title, summary, url, score?}]}`. A page: `{source_id, title, url, text, cut}`.
    Anything that went wrong: `{"error": …}`.
    """
    if reply.error is not None:
        return _json({"error": reply.error})
    if reply.page is not None:
        return _json(_page(reply.page))
    results = [{"id": hit.id, "title": hit.title, "summary": hit.summary, "url": hit.url} for hit in reply.hits or ()]
    return _json({"results": results})


def _page(page: Source) -> dict[str, object]:
    text = full(page.texts[-1]) if page.texts else ""
    return {
        "source_id": page.id,
        "title": page.title,
        "url": page.url,
        "text": text[:PAGE_CHARS],
        "cut": len(text) > PAGE_CHARS,
    }


def _json(value: dict[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False)
