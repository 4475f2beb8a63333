"""The source register: what was seen, under ids that code gives."""

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from pydantic import BaseModel

from deer.evidence.addresses import normalised_address
from deer.models import Claim, FoundSource, Source, SourceBrief, StoredText

T = TypeVar("T")


class SourceRegister(BaseModel):
    """All sources of a run or of one step, each known by one address.

    The first id given to an address wins; later ids remain aliases that always resolve.
    """

    prefix: str
    """`b` for the background search, else the step's id; ids are `<prefix>-<n>`."""
    sources: dict[str, Source] = {}
    ids_by_address: dict[str, str] = {}
    first_ids: dict[str, str] = {}
    """Alias to first id."""
    named_before: int = 0
    """How many ids with this prefix were given elsewhere before; they are not given again."""

    def add(self, found: FoundSource) -> Source:
        """Register what a search or a page brought; the same address again adds to what is known of it."""
        address = normalised_address(found.url)
        if (known := self.ids_by_address.get(address)) is not None:
            return self._widen(known, found)
        source = Source(
            id=f"{self.prefix}-{self.named_before + len(self.sources) + 1}",
            url=found.url,
            title=found.title or found.url,
            summary=found.summary,
            score=found.score,
            texts=(found.text,) if found.text else (),
            read=found.read,
        )
        return self._keep(address, source)

    def merge(self, sources: Iterable[Source]) -> None:
        """Take over what a step registered; its ids become aliases where the address is known already."""
        for source in sources:
            address = normalised_address(source.url)
            known_id = self.ids_by_address.get(address)
            if known_id is None:
                self._keep(address, source)
            else:
                known = self.sources[known_id]
                others = tuple(alias for alias in (source.id, *source.aliases) if alias != known_id)
                self.sources[known_id] = known.model_copy(
                    update={
                        "texts": _beyond(known.summary, known.texts, source.seen),
                        "read": known.read or source.read,
                        "aliases": _without_repeats((*known.aliases, *others)),
                    }
                )
                for alias in others:
                    self.first_ids[alias] = known_id

    def get(self, source_id: str) -> Source | None:
        """The source of an id or alias; None when nothing has it."""
        return self.sources.get(self.first_ids.get(source_id, source_id))

    def named_with(self, prefix: str) -> int:
        """The highest number that an id with this prefix has, 0 without any."""
        ids = (known.rpartition("-") for source in self.sources.values() for known in source.known_ids)
        return max((int(number) for named, _, number in ids if named == prefix), default=0)

    def behind(self, prefixes: Collection[str], claims: Iterable[Claim]) -> "SourceRegister":
        """The sources that those with these prefixes saw or claim on, by the ids they have, none of them cited yet."""
        kept = SourceRegister(prefix=self.prefix)
        claimed = {source.id for source in self.named_in(claims)}
        for source in self.sources.values():
            if source.id in claimed or any(known.rpartition("-")[0] in prefixes for known in source.known_ids):
                kept._keep(normalised_address(source.url), source.model_copy(update={"number": None}))
                kept.first_ids |= dict.fromkeys(source.aliases, source.id)
        return kept

    def named_in(self, claims: Iterable[Claim]) -> tuple[Source, ...]:
        """The sources that claims rest on, each once."""
        named = (self.get(claim.source_id) for claim in claims)
        return tuple({source.id: source for source in named if source is not None}.values())

    def all(self) -> tuple[Source, ...]:
        """Every source: the background's first, then step by step.

        Not in order of registration: steps side by side end in any order, and the report must not depend on it.
        """
        return tuple(sorted(self.sources.values(), key=_place))

    def without_texts(self) -> tuple[Source, ...]:
        """Every source with its ids, address and title only: what a citation needs."""
        return tuple(source.model_copy(update={"summary": "", "texts": ()}) for source in self.sources.values())

    def _keep(self, address: str, source: Source) -> Source:
        self.sources[source.id] = source
        self.ids_by_address[address] = source.id
        for alias in source.aliases:
            self.first_ids[alias] = source.id
        return source

    def _widen(self, source_id: str, found: FoundSource) -> Source:
        known = self.sources[source_id]
        widened = known.model_copy(
            update={
                "texts": _beyond(known.summary, known.texts, (found.text or found.summary,)),
                "read": known.read or found.read,
                "summary": known.summary or found.summary,
            }
        )
        self.sources[source_id] = widened
        return widened


def _place(source: Source) -> tuple[int, int]:
    """Step (0 is the background) and place of the earliest id that a source is known by."""
    named = (known.partition("-") for known in source.known_ids)
    return min((int(prefix[1:] or 0), int(place)) for prefix, _, place in named)


def shown_source(brief: SourceBrief) -> Source:
    """A source as far as a role was shown it."""
    return Source(id=brief.id, url=brief.url, title=brief.title, texts=(brief.text,))


def _beyond(summary: str, *seen: Iterable[StoredText]) -> tuple[StoredText, ...]:
    """The texts that say more than the summary, which is kept beside them, each once."""
    texts = _without_repeats(text for some in seen for text in some)
    return tuple(text for text in texts if text and text != summary)


def _without_repeats(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))


def by_any_id(sources: Iterable[Source]) -> Mapping[str, Source]:
    """Sources by their ids and all their aliases."""
    return {known: source for source in sources for known in source.known_ids}
