"""A full-text index over one collection: SQLite FTS5 with BM25, in memory, over terms that are cut beforehand."""

import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from deer.providers.documents.passages import Passage, passages_of
from deer.providers.terms import terms

_TITLE_WEIGHT, _HEADING_WEIGHT, _BODY_WEIGHT = 4.0, 2.0, 1.0
_MAX_QUERY_TERMS = 64
_SCHEMA = """
CREATE VIRTUAL TABLE passages USING fts5(
    title, heading, body, tokenize = "unicode61 remove_diacritics 0 tokenchars '.'"
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(passages, 'row');
"""


@dataclass(frozen=True)
class IndexedDocument:
    """A document of the index. `terms` are all that stand in its title and text."""

    path: str
    title: str
    terms: frozenset[str]


@dataclass(frozen=True)
class Match:
    """A passage that shares terms with a query. `rank` is BM25's, higher is better.

    `terms` stand in the passage, its heading or the title of its document.
    """

    document: IndexedDocument
    passage: Passage
    rank: float
    terms: frozenset[str]


class CollectionIndex:
    """The passages of a collection. Its methods block and may be called from any thread."""

    def __init__(self, documents: Sequence[tuple[str, str, str]]) -> None:
        """Index documents given as path, title and text."""
        self._passages: list[tuple[IndexedDocument, Passage, frozenset[str]]] = []
        # One connection for all threads: SQLite's own check would refuse it, so the lock stands in for it.
        self._lock = threading.Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.executescript(_SCHEMA)
        for path, title, text in documents:
            self._add(path, title, text)
        self._database.commit()

    def _add(self, path: str, title: str, text: str) -> None:
        title_terms = terms(title)
        cut = [(passage, terms(passage.heading), terms(passage.text)) for passage in passages_of(text)]
        document = IndexedDocument(path, title, frozenset(title_terms).union(*(h + b for _, h, b in cut)))
        for passage, heading_terms, body_terms in cut:
            self._passages.append((document, passage, frozenset((*title_terms, *heading_terms, *body_terms))))
            row = (len(self._passages), " ".join(title_terms), " ".join(heading_terms), " ".join(body_terms))
            self._database.execute("INSERT INTO passages(rowid, title, heading, body) VALUES (?, ?, ?, ?)", row)

    def __len__(self) -> int:
        return len(self._passages)

    def frequencies(self, wanted: Sequence[str]) -> dict[str, int]:
        """In how many passages each term stands."""
        marks = ",".join("?" * len(wanted))
        query = f"SELECT term, doc FROM vocabulary WHERE term IN ({marks})"  # noqa: S608 - only question marks
        with self._lock:
            found: dict[str, int] = dict(self._database.execute(query, list(wanted)).fetchall())
        return {term: found.get(term, 0) for term in wanted}

    def matches(self, wanted: Sequence[str], limit: int) -> list[Match]:
        """Passages that hold any of the terms, best first."""
        if not wanted:
            return []
        query = " OR ".join(f'"{term}"' for term in wanted[:_MAX_QUERY_TERMS])
        with self._lock:
            rows = self._database.execute(
                "SELECT rowid, bm25(passages, ?, ?, ?) AS rank FROM passages WHERE passages MATCH ? "
                "ORDER BY rank, rowid LIMIT ?",
                (_TITLE_WEIGHT, _HEADING_WEIGHT, _BODY_WEIGHT, query, limit),
            ).fetchall()
        return [self._match(rowid, rank) for rowid, rank in rows]

    def _match(self, rowid: int, rank: float) -> Match:
        document, passage, present = self._passages[rowid - 1]
        return Match(document, passage, -rank, present)
