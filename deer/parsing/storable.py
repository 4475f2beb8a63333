"""Values that payloads can carry."""

from typing import Any

from deer.errors import InvalidInput
from deer.parsing.almost_json import MAX_DEPTH


def storable(value: Any) -> Any:  # Any: JSON
    """A JSON value without lone surrogates, which an escape can bring into it and no payload can carry.

    Raises InvalidInput when it is nested deeper than `MAX_DEPTH`.
    """
    return _storable(value, MAX_DEPTH)


def _storable(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        raise InvalidInput(f"it is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, list):
        return [_storable(item, depth - 1) for item in value]
    return {_storable(name, depth): _storable(item, depth - 1) for name, item in value.items()}
