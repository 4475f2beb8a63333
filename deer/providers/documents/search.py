"""Searching collections of documents and reading them, as the port `DocumentSearch`."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from urllib.parse import quote, unquote

from deer.errors import FailureKind, NotFound, ServiceError
from deer.models import Hit, Page
from deer.ports import SearchQuery, TextStore
from deer.providers.asking import MIN_COVERAGE, Asked, asked, rarity
from deer.providers.documents.collection import Manifest, load_manifest
from deer.providers.documents.index import CollectionIndex, Match
from deer.providers.terms import terms

HIT_CHARS = 1_500
"""A hit shows the best passages of its document up to this length."""

_SCHEME = "doc://"
_MATCHES_LOOKED_AT = 200
_INDEXES_KEPT = 8


def document_url(collection: str, path: str) -> str:
    """The address of a document: `doc://collection/path`, percent-encoded."""
    return f"{_SCHEME}{collection}/{quote(path)}"


class StoredDocuments:
    """Searches and reads the collections of a TextStore. Implements `DocumentSearch`.

    An index is built on the first search of a collection and kept until eight other collections were searched.
    """

    def __init__(self, store: TextStore) -> None:
        self._store = store
        self._indexes: OrderedDict[str, CollectionIndex] = OrderedDict()
        self._building = asyncio.Lock()

    async def search(self, collections: Sequence[str], query: SearchQuery) -> Sequence[Hit]:
        """Documents that cover what is asked, best first; none when their words only touch it.

        Scores are between 0 and 1. Domains, topic and depth of the query do not concern documents.
        """
        wanted = asked(query.text)
        indexes = [(name, await self._index(name)) for name in dict.fromkeys(collections)]
        return await asyncio.to_thread(_hits, indexes, wanted, query.max_results)

    async def read(self, url: str) -> Page:
        collection, _, encoded = url.removeprefix(_SCHEME).partition("/")
        path = unquote(encoded)
        try:
            if not url.startswith(_SCHEME):
                raise NotFound(f"{url} is no address of a document")
            manifest = await load_manifest(self._store, collection)
            entry = next((entry for entry in manifest.documents if entry.path == path), None)
            if entry is None:
                raise NotFound(f"collection {collection!r} has no document {path!r}")
            text = await self._store.get(entry.sha256)
        except NotFound as error:
            raise ServiceError(f"{url} cannot be read: {error}", FailureKind.UNREADABLE) from error
        return Page(url=document_url(collection, path), title=entry.title, text=text)

    async def _index(self, collection: str) -> CollectionIndex:
        manifest = await load_manifest(self._store, collection)
        key = manifest.sha256
        async with self._building:
            if key not in self._indexes:
                self._indexes[key] = await self._built(manifest)
                if len(self._indexes) > _INDEXES_KEPT:
                    self._indexes.popitem(last=False)
            self._indexes.move_to_end(key)
            return self._indexes[key]

    async def _built(self, manifest: Manifest) -> CollectionIndex:
        documents = [(entry.path, entry.title, await self._store.get(entry.sha256)) for entry in manifest.documents]
        return await asyncio.to_thread(CollectionIndex, documents)


def _hits(indexes: Sequence[tuple[str, CollectionIndex]], wanted: Asked, limit: int) -> list[Hit]:
    frequencies = dict.fromkeys(wanted.terms, 0)
    for _, index in indexes:
        for term, frequency in index.frequencies(wanted.terms).items():
            frequencies[term] += frequency
    passages = sum(len(index) for _, index in indexes)
    if wanted.is_foreign(lambda term: frequencies[term]):
        return []
    weights = {term: rarity(frequency, passages) for term, frequency in frequencies.items()}
    names = wanted.known_names(lambda term: frequencies[term])
    subject = wanted.subject_key(lambda term: frequencies[term])
    hits = [
        hit
        for collection, index in indexes
        for matches in _by_document(index.matches(wanted.terms, _MATCHES_LOOKED_AT))
        if not names or not names.isdisjoint(matches[0].document.terms)
        if subject is None or subject in matches[0].document.terms
        if (hit := _hit(collection, matches, wanted, weights))
    ]
    return sorted(hits, key=lambda hit: (-(hit.score or 0), hit.url))[:limit]


def _by_document(matches: Sequence[Match]) -> list[list[Match]]:
    grouped: dict[str, list[Match]] = {}
    for match in matches:
        grouped.setdefault(match.document.path, []).append(match)
    return list(grouped.values())


def _hit(collection: str, matches: Sequence[Match], wanted: Asked, weights: dict[str, float]) -> Hit | None:
    """A hit of the best passages, None when all of them together cover too little of the question."""
    shown: list[Match] = []
    length = 0
    for match in matches:
        if shown and length + len(match.passage.text) > HIT_CHARS:
            break
        shown.append(match)
        length += len(match.passage.text) + 2
    document = matches[0].document
    covered = wanted.coverage(frozenset().union(*(match.terms for match in shown)), weights.__getitem__)
    if covered < wanted.needed(MIN_COVERAGE):
        return None
    return Hit(
        url=document_url(collection, document.path),
        title=document.title,
        content="\n\n".join(match.passage.text for match in sorted(shown, key=lambda match: match.passage.start)),
        score=round(_score(matches, shown, wanted, weights), 4),
    )


def _score(matches: Sequence[Match], shown: Sequence[Match], wanted: Asked, weights: dict[str, float]) -> float:
    """Between 0 and 1: what the best passage, the title and the whole document cover, and BM25 of the best passage."""
    document = matches[0].document
    passage = max(wanted.coverage(match.terms, weights.__getitem__) for match in shown)
    whole = wanted.coverage(document.terms, weights.__getitem__)
    title = wanted.coverage(frozenset(terms(document.title)), weights.__getitem__)
    rank = max(0.0, matches[0].rank)
    return 0.35 * passage + 0.2 * whole + 0.2 * title + 0.25 * rank / (rank + 5)
