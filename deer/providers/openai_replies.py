"""What an OpenAI-compatible endpoint answers, in whatever shape it does, as a `ChatReply` or a `ServiceError`."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ValidationError

from deer.models import ChatReply, RawToolCall, Usage
from deer.providers.openai_dialects import REASONING_FIELDS
from deer.providers.openai_errors import filtered, malformed, unavailable
from deer.providers.plain_text import clean

_CUT = frozenset({"length", "max_tokens", "model_length"})
_FILTERED = frozenset({"content_filter", "safety", "SAFETY"})
_GIVEN_UP = frozenset({"error", "abort", "insufficient_system_resource"})
"""Why answers end, in the words of several endpoints; any other reason, or none, is an answer that is whole."""


def text_of(content: Any) -> str:
    """The text of a message's content, which endpoints write as a string, as a list of parts, or as null."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    texts = (part if isinstance(part, str) else _text_of_part(part) for part in content)
    return "".join(texts)


def thoughts_in(content: Any) -> str:
    """The reasoning among the parts of a message's content; empty for none."""
    if isinstance(content, str) or not isinstance(content, Sequence):
        return ""
    parts = (part for part in content if isinstance(part, Mapping) and part.get("type") in ("thinking", "reasoning"))
    return "".join(text_of(part.get("thinking") or part.get("text")) for part in parts)


def _text_of_part(part: Any) -> str:
    if not isinstance(part, Mapping) or part.get("type", "text") not in ("text", "output_text"):
        return ""  # a picture, or reasoning, which is not part of the answer
    text = part.get("text")
    return text if isinstance(text, str) else ""


def _arguments_of(arguments: Any) -> str:
    """Arguments as JSON text; some endpoints send the object itself, or nothing for none."""
    if isinstance(arguments, str):
        return arguments if arguments.strip() else "{}"
    return json.dumps({} if arguments is None else arguments, ensure_ascii=False)


def _count_of(tokens: Any) -> int:
    return max(int(tokens), 0) if isinstance(tokens, int | float) else 0


def _or_empty(value: Any) -> Any:
    return "" if value is None else value


_Text = Annotated[str, BeforeValidator(text_of)]
_Word = Annotated[str, BeforeValidator(_or_empty)]
_Count = Annotated[int, BeforeValidator(_count_of)]


class _Function(BaseModel):
    name: _Word = ""
    arguments: Annotated[str, BeforeValidator(_arguments_of)] = "{}"


class _Call(BaseModel):
    id: _Word = ""
    function: _Function | None = None


class _Message(BaseModel):
    content: Any = None  # a string, parts, or null: see `text_of`
    refusal: _Text = ""
    reasoning_content: _Text = ""
    reasoning: _Text = ""
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Message | None = None
    finish_reason: _Word = ""


class _Tokens(BaseModel):
    prompt_tokens: _Count = 0
    completion_tokens: _Count = 0


class _Completion(BaseModel):
    choices: list[_Choice] | None = None
    usage: _Tokens | None = None
    model: _Word = ""


def json_of(body: bytes, endpoint: str) -> Mapping[str, Any]:  # Any: what endpoints send has no closed type
    """The JSON object that an endpoint answered. Raises ServiceError (Malformed, retryable) when it is none."""
    try:
        payload = json.loads(body)
    except ValueError:  # also bytes that are no UTF-8
        payload = None
    if not isinstance(payload, Mapping):
        is_page = body.lstrip()[:1] == b"<"
        what = "a web page" if is_page else "an empty body" if not body.strip() else "something else"
        raise malformed(endpoint, f"answered {what} instead of JSON; check OPENAI_BASE_URL if it stays so")
    return payload


def reply_of(payload: Mapping[str, Any], endpoint: str) -> ChatReply:
    """The answer in a completion. `usage` has the tokens and one model call, no price; what is sealed is left aside.

    Raises ServiceError: Malformed and retryable without a usable choice, Unavailable when the endpoint gave up on its
    way, Rejected when a filter held the answer back, also when it had let some of it through.
    """
    try:
        completion = _Completion.model_validate(payload)
    except ValidationError as error:
        field = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
        raise malformed(endpoint, f"sent an answer that cannot be used: {field} has an unknown shape") from None
    choice = completion.choices[0] if completion.choices else None
    if choice is None or choice.message is None:
        raise malformed(endpoint, "sent an answer that cannot be used: it holds no choice")
    if choice.finish_reason in _FILTERED:
        raise filtered(endpoint)
    if choice.finish_reason in _GIVEN_UP:
        raise unavailable(endpoint, f"gave up on its answer ({choice.finish_reason})")
    message = choice.message
    tokens = completion.usage or _Tokens()
    return ChatReply(
        content=clean(text_of(message.content)) or clean(message.refusal),
        calls=_calls_of(message.tool_calls or ()),
        reasoning=clean(message.reasoning_content or message.reasoning or thoughts_in(message.content)),
        was_cut=choice.finish_reason.lower() in _CUT,
        usage=Usage(input_tokens=tokens.prompt_tokens, output_tokens=tokens.completion_tokens, model_calls=1),
        model=completion.model,
    )


def reasoning_field_in(payload: Mapping[str, Any]) -> str | None:  # Any: as above
    """Where an answer that `reply_of` could read has the model's reasoning; None when it has none."""
    message = payload["choices"][0]["message"]
    return next((name for name in REASONING_FIELDS if message.get(name)), None)


def _calls_of(calls: Sequence[_Call]) -> tuple[RawToolCall, ...]:
    """The calls in order, each under an id of its own: endpoints leave ids out or repeat them."""
    found: dict[str, RawToolCall] = {}
    for position, call in enumerate(calls, 1):
        if call.function is None:
            continue
        name = call.id if call.id and call.id not in found else f"call_{position}"
        found[name] = RawToolCall(id=name, name=call.function.name, arguments=clean(call.function.arguments))
    return tuple(found.values())
