"""Fewer words for texts, tool results and tool calls: what names a source stays, and what was cut says so."""

import json
import re
from collections.abc import Iterator
from typing import Any

from deer.models import ChatMessage, RawToolCall, SealedThoughts, Speaker
from deer.wording import word

_NAMES_A_SOURCE = frozenset({"id", "source_id", "title", "url"})
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？；\n]")
_SHORT_ENOUGH = 80
"""A text of so many characters gains nothing by being cut."""

_CUT = "shortened"
"""The key under which a shortened JSON object says so."""


def shortened(text: str, max_chars: int, locale: str) -> str:
    """The first sentences of a text that fit into `max_chars`, and how much of it that is.

    The mark comes on top; a text that would not become shorter stays as it is.
    """
    mark = word("shortened", locale, kept=max_chars, chars=len(text))
    if len(text) <= max_chars + len(mark):
        return text
    kept = text[:max_chars]
    ends = [found.end() for found in _SENTENCE_END.finditer(kept)]
    if ends and ends[-1] * 2 >= max_chars:
        kept = kept[: ends[-1]]
    return f"{kept.rstrip()} {word('shortened', locale, kept=len(kept), chars=len(text))}".lstrip()


def last_part(text: str, max_chars: int, locale: str) -> str:
    """The end of a text, for whoever goes on with it."""
    mark = word("shortened", locale, kept=max_chars, chars=len(text))
    return text if len(text) <= max_chars + len(mark) else f"{mark} {text[len(text) - max_chars :]}".rstrip()


def shortened_json(text: str, max_chars: int, locale: str) -> str:
    """A text that is JSON with all its long strings shortened, save those that name a source."""
    value = _parsed(text)
    return text if value is None else _written(_with_short_strings(value, max_chars, locale))


def digest(message: ChatMessage, max_chars: int, locale: str) -> ChatMessage:
    """A message of an agent's conversation with no text in it longer than `max_chars`; its ids stay.

    `max_chars` 0 leaves of a tool's reply the ids of its sources alone, and of a call its name.
    """
    if message.speaker is Speaker.TOOL:
        return message.model_copy(update={"content": _digest_of_result(message.content, max_chars, locale)})
    if message.speaker is Speaker.ASSISTANT:
        calls = tuple(_digest_of_call(call, max_chars, locale) for call in message.calls)
        said = {name: shortened(getattr(message, name), max_chars, locale) for name in ("content", "reasoning")}
        return message.model_copy(update={**said, "calls": calls, "sealed": _short_seal(message.sealed, max_chars)})
    return message


def _short_seal(sealed: SealedThoughts | None, max_chars: int) -> SealedThoughts | None:
    """What is sealed with a message goes or stays as a whole; the signatures of its calls are always wanted."""
    if sealed is None or len(sealed.message_text) <= max_chars:
        return sealed
    return sealed.model_copy(update={"message": {}})


def _digest_of_result(content: str, max_chars: int, locale: str) -> str:
    value = _parsed(content)
    if not isinstance(value, dict):
        return shortened(content, max_chars, locale)
    if max_chars == 0:
        note = word("shortened", locale, kept=0, chars=len(content))
        digested: dict[str, Any] = {_CUT: note, "source_ids": list(dict.fromkeys(_source_ids(value)))}
    else:
        digested = _with_short_strings(value, max_chars, locale)
        if digested != value:
            digested[_CUT] = True
    written = _written(digested)
    return written if len(written) < len(content) else content


def _digest_of_call(call: RawToolCall, max_chars: int, locale: str) -> RawToolCall:
    """A call whose arguments still are a JSON object if they were one: endpoints insist on it."""
    if len(call.arguments) <= _SHORT_ENOUGH:
        return call
    value = _parsed(call.arguments)
    if isinstance(value, dict) and max_chars > 0:
        arguments = _written(_with_short_strings(value, max_chars, locale))
    else:
        arguments = _written({_CUT: shortened(call.arguments, max_chars, locale)})
    return call if len(arguments) >= len(call.arguments) else call.model_copy(update={"arguments": arguments})


def _parsed(text: str) -> Any:  # Any: whatever JSON holds
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _with_short_strings(value: Any, max_chars: int, locale: str) -> Any:  # Any: whatever JSON holds
    if isinstance(value, str):
        return shortened(value, max_chars, locale)
    if isinstance(value, list):
        return [_with_short_strings(part, max_chars, locale) for part in value]
    if isinstance(value, dict):
        return {
            key: part if _names_a_source(key, part) else _with_short_strings(part, max_chars, locale)
            for key, part in value.items()
        }
    return value


def _names_a_source(key: str, part: object) -> bool:
    return key in _NAMES_A_SOURCE and isinstance(part, str)


def _source_ids(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for part in value:
            yield from _source_ids(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key in ("id", "source_id") and isinstance(part, str):
                yield part
            else:
                yield from _source_ids(part)
