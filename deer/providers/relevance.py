"""Which parts of a long text matter for what somebody wants to know."""

from collections.abc import Iterable, Iterator, Sequence

from deer.providers.asking import asked
from deer.providers.documents.index import CollectionIndex
from deer.providers.documents.passages import Passage, passages_of

_OPENING_SHARE = 8
"""An eighth of the room is for the beginning: it says what the text is, and often the answer in short."""


def relevant_parts(text: str, title: str, wanted: str, max_chars: int) -> list[tuple[int, int]]:
    """Start and end of the parts, in reading order and together at most `max_chars` long.

    The opening, then the passages that rank best for the words of `wanted`, as a search of documents ranks them, then
    what follows each of those, and where room is left, more of the beginning.
    """
    passages = passages_of(text)
    extents = [_extent(passages, at) for at in range(len(passages))]
    chosen: set[int] = set()
    room = max_chars
    for at in _in_order_of_worth(text, title, wanted, passages, max_chars // _OPENING_SHARE):
        start, end = extents[at]
        if at not in chosen and end - start <= room:
            chosen.add(at)
            room -= end - start
    for at, (start, end) in enumerate(extents):
        if at not in chosen:
            if end - start > room:
                break
            chosen.add(at)
            room -= end - start
    joined = _joined(extents[at] for at in sorted(chosen))
    return [(end - len(text[start:end].lstrip()), end) for start, end in joined]


def _in_order_of_worth(
    text: str, title: str, wanted: str, passages: Sequence[Passage], opening_chars: int
) -> Iterator[int]:
    """Places of the passages that are worth showing, repetitions included."""
    place_of = {passage.start: at for at, passage in enumerate(passages)}
    matches = CollectionIndex([("", title, text)]).matches(asked(wanted).terms, len(passages))
    best = [place_of[match.passage.start] for match in matches]
    yield from (at for at, passage in enumerate(passages) if passage.start < opening_chars)
    yield from best
    yield from (at + 1 for at in best if at + 1 < len(passages))


def _extent(passages: Sequence[Passage], at: int) -> tuple[int, int]:
    """A passage with the headings right above it, which belong to no passage."""
    start = passages[at - 1].start + len(passages[at - 1].text) if at else 0
    end = passages[at].start + len(passages[at].text)
    return start, end


def _joined(extents: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Neighbours as one part."""
    current: tuple[int, int] | None = None
    for start, end in extents:
        if current is not None and start == current[1]:
            current = (current[0], end)
            continue
        if current is not None:
            yield current
        current = (start, end)
    if current is not None:
        yield current
