"""Single fields of what people and models wrote, and errors that name them."""

import re
import unicodedata
from typing import Any

from pydantic import ValidationError

from deer.errors import InvalidInput

MAX_SHOWN_CHARS = 120
"""A wrong value is shown in an error up to this length: the error travels, and models are told it."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}


def first_error(error: ValidationError) -> InvalidInput:
    """The first complaint of pydantic as an error that names the field."""
    complaint = error.errors(include_url=False, include_context=False)[0]
    message = complaint["msg"].removeprefix("Value error, ")
    return InvalidInput(message, ".".join(str(part) for part in complaint["loc"]))


def shown(value: Any) -> str:  # Any: what was written may be anything
    """A wrong value as an error shows it: short, and an object or list by its kind only."""
    if isinstance(value, dict | list | tuple):
        return "an object" if isinstance(value, dict) else "a list"
    said = repr(value[:MAX_SHOWN_CHARS] if isinstance(value, str) else value)
    return said if len(said) <= MAX_SHOWN_CHARS + 2 else f"{said[:MAX_SHOWN_CHARS]}…"


def line_of(value: Any, field: str, limit: int) -> str:
    """Text that is not empty, on one line. Raises InvalidInput naming the field."""
    text = " ".join(text_of(value, field, limit).split())
    if not any(character.isprintable() and not character.isspace() for character in text):
        raise InvalidInput("is missing" if value is None else "must not be empty", field)
    return text


def text_of(value: Any, field: str, limit: int) -> str:
    """Text of at most `limit` characters, without control characters; empty for None.

    Raises InvalidInput naming the field.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(f"must be text, not {shown(value)}", field)
    if len(value) > limit:
        raise InvalidInput(f"{len(value)} characters given, at most {limit} allowed", field)
    return _CONTROLS.sub("", value).strip()


def truth_of(value: Any, field: str) -> bool:
    """A boolean, also as text or number; false for None. Raises InvalidInput naming the field."""
    said = str(value).strip().lower() if isinstance(value, str | int) else ""
    if value is None or (isinstance(value, str | int) and said in _TRUTHS):
        return _TRUTHS[said]
    raise InvalidInput(f"{shown(value)} is neither true nor false", field)


def sameness_of(text: str) -> str:
    """What two texts have in common that a reader takes for the same."""
    return unicodedata.normalize("NFKC", text).casefold()
