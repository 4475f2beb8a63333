"""What engines found, made fit to be sources."""

import html
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from deer.evidence import belongs_to, normalised_address
from deer.models import MAX_TITLE_CHARS, Hit
from deer.ports import SearchQuery
from deer.providers.plain_text import clean, one_line

MAX_CONTENT_CHARS = 20_000

# An embedded picture, or a run that no language writes; either is noise to a reader and a model.
_ENCODED = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,[A-Za-z0-9+/=]+|(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{200,}={0,2}")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


@dataclass(frozen=True)
class SearchRules:
    """What holds for every search of a deployment, on top of what a run asks for.

    `time_range`: `day`, `week`, `month` or `year`, empty for any age. `depth` takes the place of the one that a model
    asks for, unless empty. `min_score`: hits that their engine scores below are left out; those without a score stay.
    `max_content_chars`: how much of a hit's text is kept.
    """

    allowed_domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()
    time_range: str = ""
    depth: str = ""
    min_score: float = 0.0
    max_content_chars: int = MAX_CONTENT_CHARS

    def applied_to(self, query: SearchQuery) -> SearchQuery:
        """A query within these rules; the domains that a run allows take the place of the deployment's."""
        return query.model_copy(
            update={
                "allowed_domains": query.allowed_domains or self.allowed_domains,
                "denied_domains": tuple(dict.fromkeys((*query.denied_domains, *self.denied_domains))),
                "time_range": query.time_range or self.time_range,
                "depth": self.depth or query.depth,
            }
        )

    def kept(self, hits: Iterable[Hit], query: SearchQuery) -> tuple[Hit, ...]:
        """The hits that a query wants, in their order and each page once, at most as many as it asked for."""
        by_address: dict[str, Hit] = {}
        for hit in hits:
            if _is_wanted(hit.url, query) and (hit.score is None or hit.score >= self.min_score):
                by_address.setdefault(normalised_address(hit.url), self._cut(hit))
        return tuple(by_address.values())[: query.max_results]

    def _cut(self, hit: Hit) -> Hit:
        if len(hit.content) <= self.max_content_chars:
            return hit
        return hit.model_copy(update={"content": hit.content[: self.max_content_chars - 1] + "…"})


def hit_of(url: object, title: object, *texts: object, score: object = None) -> Hit | None:
    """A result as a hit; None without an address that can be opened. Every other field may be missing or anything.

    `texts` are joined, each once, with an empty line between.
    """
    address = one_line(_text(url)).replace(" ", "%20")
    if not address.lower().startswith(("http://", "https://")):
        return None
    contents = dict.fromkeys(_ENCODED.sub("[…]", clean(_text(text))).strip() for text in texts)
    return Hit(
        url=address,
        title=one_line(_text(title))[:MAX_TITLE_CHARS] or address,
        content="\n\n".join(filter(None, contents)),
        score=_score_of(score),
    )


def found(hits: Iterable[Hit | None]) -> tuple[Hit, ...]:
    """Those results that are hits."""
    return tuple(hit for hit in hits if hit is not None)


def without_markup(text: object) -> str:
    """The text of a snippet of HTML, in which engines mark the words that were searched for."""
    return html.unescape(_TAG.sub("", _text(text)))


def _is_wanted(url: str, query: SearchQuery) -> bool:
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:  # such as a broken IPv6 literal, which nobody can open
        return False
    if any(belongs_to(host, domain) for domain in query.denied_domains):
        return False
    return not query.allowed_domains or any(belongs_to(host, domain) for domain in query.allowed_domains)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _score_of(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None
