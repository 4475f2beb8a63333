"""What a model was asked for, found in the words around it: thoughts, fences, prose and other objects."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from deer.errors import InvalidInput
from deer.parsing.almost_json import Found, contents_of, unescaped
from deer.parsing.plan_shapes import Likeness, likeness_to_a_plan, plan_shape
from deer.parsing.storable import storable
from deer.parsing.thoughts import answer_and_open_thoughts, answer_of

_FENCE = re.compile(r"```[\w-]*")
_BEHIND_AN_ANSWER = " \t\r\n`}"
"""What may stand behind an answer without being one: blanks, the end of a fence, a brace too many."""

_Rank = Callable[[Found], tuple[int, int]]
"""How much a value is what was asked for, and what decides among those that are it as much."""


def json_object(text: str) -> dict[str, Any]:
    """The JSON object in a model's text, the largest where there are several.

    Raises InvalidInput when there is none, or when the text breaks off inside one.
    """
    return _object_in(text, lambda found: (int(isinstance(found.value, dict)), found.end - found.start))


def plan_in(text: str, title: str) -> dict[str, Any]:
    """The plan in a model's text: what looks most like one, the last of several. It is not validated.

    Steps alone, and a plan that has no title at all, get this `title`.
    Raises InvalidInput when there is no object, or when the text breaks off inside one: what is missing is never
    made up, since the part that is there could pass for a shorter plan.
    """
    return {"title": title, **plan_shape(_object_in(text, _plan_rank))}


def plan_that_is(text: str, title: str) -> dict[str, Any]:
    """The plan that a model's text is as a whole, thoughts and fences aside; else as `plan_in`.

    Raises InvalidInput when there are words around it: a plan within a sentence may be quoted, or rejected.
    """
    answer = _FENCE.sub("", answer_of(text))
    words, end = "", 0
    for value in _whole_values(answer):
        words, end = words + answer[end : value.start], value.end
    if re.search(r"\w", words + answer[end:]):
        raise InvalidInput("the reply is more than its JSON object")
    return plan_in(text, title)


def _plan_rank(found: Found) -> tuple[int, int]:
    """A plan with steps, steps alone, a plan without steps; of several the last. Else the largest object."""
    if isinstance(found.value, list):
        # Within an object that cannot be read a list of steps may be anything, such as those that were rejected.
        are_steps = not found.is_piece and likeness_to_a_plan({"steps": found.value}) is Likeness.STEPS
        return (3 if are_steps else 0, found.start)
    likeness = likeness_to_a_plan(found.value)
    if likeness is Likeness.NONE:
        return (1, found.end - found.start)
    return (4 if likeness is Likeness.STEPS else 2, found.start)


def _object_in(text: str, rank: _Rank) -> dict[str, Any]:
    text = text.strip().lstrip("\ufeff")
    if not text:
        raise InvalidInput("the reply is empty")
    chosen = _best(_values_in(text), rank) or _best(_at_the_end_of_open_thoughts(text, rank), rank)
    if chosen is None and (inner := unescaped(text)) != text:
        chosen = _best(_values_in(inner), rank)  # JSON that was encoded twice, without the quotes around it
    if chosen is None:
        raise InvalidInput("the reply holds no JSON object")
    value: dict[str, Any] = storable({"steps": chosen.value} if isinstance(chosen.value, list) else chosen.value)
    return value


def _best(values: Sequence[Found], rank: _Rank) -> Found | None:
    ranks = [rank(value) for value in values]
    best = max(ranks, default=(0, 0))
    return values[ranks.index(best)] if best[0] > 0 else None


def _values_in(text: str) -> Sequence[Found]:
    """The objects and lists of an answer, without its thoughts."""
    try:
        whole = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _whole_values(answer_and_open_thoughts(text)[0])
    if isinstance(whole, str):
        return _values_in(whole)
    return (Found(whole, 0, len(text), is_piece=False),) if isinstance(whole, dict | list) else ()


def _whole_values(text: str) -> Sequence[Found]:
    contents = contents_of(text)
    if contents.breaks_off:
        raise InvalidInput("the reply breaks off inside its JSON; write it whole, and shorter")
    return contents.found


def _at_the_end_of_open_thoughts(text: str, rank: _Rank) -> Sequence[Found]:
    """The value with which thoughts end that were never closed, if it is the only one of its kind, on its own lines.

    In the thoughts of a reply that was cut there could stand a draft as well: one within a sentence is not taken, and
    of two neither.
    """
    thoughts = answer_and_open_thoughts(text)[1]
    values = _whole_values(thoughts)
    best = _best(values, rank)
    if best is None or thoughts[best.end :].strip(_BEHIND_AN_ANSWER):
        return ()
    is_in_a_sentence = thoughts[: best.start].rpartition("\n")[2].strip()
    rivals = [value for value in values if value is not best and rank(value)[0] == rank(best)[0]]
    return () if rivals or is_in_a_sentence else (best,)
