"""Texts that history may carry: short ones as they are, long ones as references into the TextStore."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Annotated, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field

INLINE_TEXT_BYTES = 8 * 1024
"""Texts above this many UTF-8 bytes are stored once and travel as a `TextRef`."""

PREVIEW_CHARS = 300


class Model(BaseModel):
    """Base of every value that crosses a boundary: immutable.

    Unknown fields are left out when one is read, since a worker of the next version may have written it.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")


class Message(Model):
    """Base of what people write: a field that nobody knows is a mistake, and named."""

    model_config = ConfigDict(extra="forbid")


def bytes_of(text: str) -> bytes:
    """The bytes that are kept of a text."""
    return text.encode("utf-8", "surrogatepass")  # models write lone surrogates; what was put is what is got


def text_of(data: bytes) -> str:
    """The text that was kept as these bytes."""
    return data.decode("utf-8", "surrogatepass")


def hash_of(text: str) -> str:
    """The SHA-256 of a text's bytes, under which stores keep it and references name it."""
    return hashlib.sha256(bytes_of(text)).hexdigest()


M = TypeVar("M", bound=BaseModel)


class TextRef(Model):
    """A text kept in the TextStore under the SHA-256 of its UTF-8 bytes."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    chars: int
    preview: str


StoredText = str | TextRef
"""A text, or where to find it."""


def is_inline(text: str) -> bool:
    """Whether a text is short enough to travel in history as it is."""
    return len(text) <= INLINE_TEXT_BYTES and len(text.encode("utf-8", "surrogatepass")) <= INLINE_TEXT_BYTES


def preview_of(text: str) -> str:
    """The beginning of a text, at most `PREVIEW_CHARS` characters, marked where it was cut."""
    return text if len(text) <= PREVIEW_CHARS else text[: PREVIEW_CHARS - 1] + "…"


def shown(text: StoredText) -> str:
    """What a query shows of a text: the text, or the preview of a stored one."""
    return text.preview if isinstance(text, TextRef) else text


def full(text: StoredText) -> str:
    """The text itself; TypeError when it is still a reference, which is a bug of the caller."""
    if isinstance(text, TextRef):
        raise TypeError(f"text {text.sha256[:12]} was not resolved before use")
    return text


def references(value: object) -> Iterator[TextRef]:
    """Every reference inside a model, at any depth."""
    if isinstance(value, TextRef):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from references(getattr(value, name))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from references(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from references(item)


def with_texts(value: M, texts: Mapping[str, str]) -> M:
    """A copy of a model in which each reference is replaced by its text, looked up by hash."""
    return cast("M", _filled(value, texts))  # a model is filled with a copy of its own type


def _filled(value: object, texts: Mapping[str, str]) -> object:
    if isinstance(value, TextRef):
        return texts[value.sha256]
    if isinstance(value, BaseModel):
        changed = {name: _filled(getattr(value, name), texts) for name in type(value).model_fields}
        return value.model_copy(update=changed)
    if isinstance(value, tuple | list):
        return type(value)(_filled(item, texts) for item in value)
    return value
