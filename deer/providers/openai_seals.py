"""What endpoints seal of a model's thoughts: kept beside its tool calls, and handed back to whoever sealed it.

    Gemini       `extra_content` of a call holds a signature; without those of the present turn results are refused
    OpenRouter   `reasoning_details` of a message, all of them, in order and unchanged

What another endpoint or model has sealed is of no use to this one, and is left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deer.errors import InvalidInput
from deer.models import ChatMessage, SealedThoughts
from deer.parsing import storable

Json = dict[str, Any]  # what endpoints send has no closed type

CALL_FIELDS = ("extra_content", "thought_signature")
MESSAGE_FIELD = "reasoning_details"

_PIECEWISE = ("text", "summary", "data")
"""Fields of a detail that a stream brings piece by piece; the others come whole."""

_NOT_SIGNED: Json = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}
"""What Google has calls carry that another model made."""


def sealed_in(payload: Mapping[str, Any], sealed_by: str) -> SealedThoughts | None:  # Any: see Json
    """What a completion wants back with the results of its calls; None for nothing."""
    message = payload["choices"][0]["message"]
    calls = [call for call in message.get("tool_calls") or () if call.get("function") is not None]
    details = message.get(MESSAGE_FIELD)
    try:
        of_message = {MESSAGE_FIELD: storable(details)} if details and isinstance(details, list) else {}
        of_calls = [{name: storable(call[name]) for name in CALL_FIELDS if call.get(name)} for call in calls]
    except InvalidInput:  # nested deeper than anything that an endpoint seals
        return None
    if not calls or not (of_message or any(of_calls)):
        return None
    return SealedThoughts(sealed_by=sealed_by, message=of_message, calls=tuple(of_calls))


def add_details(details: list[Json], pieces: Any) -> None:
    """Add the `reasoning_details` of a piece of a stream to those before it."""
    for piece in pieces if isinstance(pieces, Sequence) and not isinstance(pieces, str) else ():
        if not isinstance(piece, Mapping):
            continue
        last = details[-1] if details else {}
        if piece.get("index") is None or any(piece.get(name) != last.get(name) for name in ("index", "type")):
            details.append(dict(piece))
            continue
        for name, value in piece.items():
            goes_on = name in _PIECEWISE and isinstance(value, str) and isinstance(last.get(name), str)
            if value is not None:
                last[name] = last[name] + value if goes_on else value


def with_own_seals(messages: Iterable[ChatMessage], endpoint: str) -> tuple[ChatMessage, ...]:
    """The messages without what others have sealed."""
    return tuple(
        message
        if message.sealed is None or message.sealed.sealed_by == endpoint
        else message.model_copy(update={"sealed": None})
        for message in messages
    )


def unseal(told: Json, sealed: SealedThoughts | None, *, signs_all: bool) -> None:
    """Add to a message with calls what was sealed with it; with `signs_all` a sign that nothing was."""
    if sealed is not None:
        told |= sealed.message
        for call, fields in zip(told["tool_calls"], sealed.calls, strict=False):
            call |= fields
    if signs_all and not any(name in call for call in told["tool_calls"] for name in CALL_FIELDS):
        told["tool_calls"][0] |= _NOT_SIGNED
