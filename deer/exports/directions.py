"""Which way a text is read."""

import unicodedata
from collections.abc import Iterator

_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_LOOKED_AT = 4_000
"""Characters that decide for a whole report."""


def begins_right_to_left(text: str) -> bool:
    """Whether the first letter of a paragraph belongs to a script that is read from right to left."""
    for char in text:
        if (kind := unicodedata.bidirectional(char)) == "L":
            return False
        if kind in _RIGHT_TO_LEFT:
            return True
    return False


def is_right_to_left(text: str) -> bool:
    """Whether most letters of a text are read from right to left: what decides the layout of a page."""
    kinds = [unicodedata.bidirectional(char) for char in text[:_LOOKED_AT]]
    return sum(kind in _RIGHT_TO_LEFT for kind in kinds) > kinds.count("L")


def parts_by_direction(text: str) -> Iterator[tuple[str, bool]]:
    """A text in parts that are read one way each, and whether that is from right to left.

    What has no direction, such as spaces, digits and marks, stays with what is before it.
    """
    begin, turned = 0, begins_right_to_left(text)
    for at, char in enumerate(text):
        kind = unicodedata.bidirectional(char)
        turns = kind in _RIGHT_TO_LEFT
        if turns != turned and (turns or kind == "L"):
            if at > begin:
                yield text[begin:at], turned
            begin, turned = at, turns
    if text[begin:]:
        yield text[begin:], turned
