"""What is asked for, in the form that an engine takes."""

import unicodedata

from deer.ports import SearchQuery
from deer.providers.plain_text import one_line

MAX_QUERY_CHARS = 400
"""Tavily and Brave refuse longer queries, and no engine finds more with them."""
MAX_SITES = 8
"""So many domains fit into a query beside its words; the results are sorted out by all of them."""

_JOINERS = frozenset("\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
_WORD_BORDER_WITHIN = 40


def shortened(query: str, most_chars: int = MAX_QUERY_CHARS) -> str:
    """A query of at most so many characters, cut between words, or else between characters as a reader sees them."""
    query = one_line(query)
    if len(query) <= most_chars:
        return query
    end = most_chars
    space = query.rfind(" ", max(0, end - _WORD_BORDER_WITHIN), end + 1)
    if space > 0:
        return query[:space]
    while end > 1 and (_joins(query[end]) or query[end - 1] == "\u200d"):
        end -= 1
    return query[:end]


def with_sites(query: SearchQuery, most_words: int = MAX_QUERY_CHARS) -> str:
    """The words of a query and its domains as operators, as engines without parameters for domains take them.

    When both do not fit, the words are cut; with very long names of domains, these are left out.
    """
    allowed = " OR ".join(f"site:{domain.lstrip('.')}" for domain in query.allowed_domains[:MAX_SITES])
    operators = [f"({allowed})" if len(query.allowed_domains) > 1 else allowed] if allowed else []
    operators += [f"-site:{domain.lstrip('.')}" for domain in query.denied_domains[:MAX_SITES]]
    sites = " ".join(["", *operators])
    if len(sites) > MAX_QUERY_CHARS // 2:
        sites = ""
    words = one_line(query.text).split(" ")[: most_words - len(sites.split())]
    return shortened(" ".join(words), MAX_QUERY_CHARS - len(sites)) + sites


def language_of(query: SearchQuery) -> str:
    """The language of a query's locale, as in `zh`; empty without one that can be a language."""
    language = query.locale.replace("_", "-").partition("-")[0].lower()
    return language if 2 <= len(language) <= 3 and language.isascii() and language.isalpha() else ""


def _joins(character: str) -> bool:
    """Whether a character belongs to the one before it: an accent, a skin tone, a part of a joined emoji."""
    return character in _JOINERS or unicodedata.category(character).startswith("M")
