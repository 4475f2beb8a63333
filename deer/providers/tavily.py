"""Web search by Tavily."""

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import timedelta

import httpx
import tavily  # type: ignore[import-untyped]  # ships no types
from tavily.errors import TimeoutError as TavilyTimeoutError  # type: ignore[import-untyped]  # the same

from deer.errors import FailureKind, ServiceError
from deer.evidence import normalised_address
from deer.models import Hit
from deer.ports import SearchQuery
from deer.providers.complaints import retry_after, words_of
from deer.providers.endpoints import checked_key, is_on_this_machine, shown_address, trusted_certificates
from deer.providers.plain_text import clean, one_line

TAVILY_ADDRESS = "https://api.tavily.com"
MAX_QUERY_CHARS = 400
"""Tavily answers 400 to longer queries."""
MAX_RESULTS = 20
"""Tavily's own upper bound."""
MAX_CONTENT_CHARS = 20_000
MAX_TITLE_CHARS = 300

# An embedded picture, or a run that no language writes; either is noise to a reader and a model.
_ENCODED = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,[A-Za-z0-9+/=]+|(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{200,}={0,2}")
_JOINERS = frozenset("\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
_WORD_BORDER_WITHIN = 40


class TavilySearch:
    """Implements `deer.ports.SearchEngine` with `tavily-python`.

    `base_url` None is Tavily itself. `timeout` bounds one search; Tavily allows at most 120 s. An empty key is
    refused with SettingsError, as the client would go on without one under other limits.
    """

    def __init__(self, api_key: str, base_url: str | None, timeout: timedelta) -> None:
        key = checked_key(api_key, "TAVILY_API_KEY")
        address = (base_url or TAVILY_ADDRESS).rstrip("/")
        self._secrets = (key,)
        self._endpoint = shown_address(address)
        self._seconds = timeout.total_seconds()
        self._http = httpx.AsyncClient(
            base_url=address,
            headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
            timeout=self._seconds,
            trust_env=not is_on_this_machine(address),
            verify=trusted_certificates(),
            event_hooks={"response": [self._raise_refusal]},
        )
        self._client = tavily.AsyncTavilyClient(client=self._http)

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        await self._http.aclose()

    async def search(self, query: SearchQuery) -> Sequence[Hit]:
        try:
            found = await self._client.search(
                query=shortened(query.text),
                search_depth=query.depth,  # the port's words are Tavily's
                topic=query.topic,
                max_results=min(max(query.max_results, 1), MAX_RESULTS),
                include_domains=list(query.allowed_domains) or None,
                exclude_domains=list(query.denied_domains) or None,
                timeout=self._seconds,
            )
        except (TavilyTimeoutError, httpx.TimeoutException):
            raise self._unavailable(f"did not answer within {self._seconds:g} s") from None
        except httpx.TransportError as error:
            raise self._unavailable(f"cannot be reached ({words_of(str(error), self._secrets)})") from None
        return self._hits_of(found, query.max_results)

    async def _raise_refusal(self, response: httpx.Response) -> None:
        """Judge an answer before the client does, which has one error for 403, 432 and 433 and drops the headers."""
        await response.aread()
        if response.status_code == 200:
            if not isinstance(_json_of(response), Mapping):
                raise self._malformed()
            return
        kind, happening, remedy = _judged(response.status_code)
        may_pass = kind in (FailureKind.RATE_LIMITED, FailureKind.UNAVAILABLE)
        words = words_of(_detail_of(response), self._secrets)
        raise ServiceError(
            f"the search engine Tavily ({self._endpoint}) {happening} (HTTP {response.status_code})"
            + (f": {words}" if words else "")
            + remedy,
            kind,
            retryable=may_pass,
            retry_after=retry_after(response.headers) if may_pass else None,
        )

    def _unavailable(self, what: str) -> ServiceError:
        return ServiceError(
            f"the search engine Tavily ({self._endpoint}) {what}", FailureKind.UNAVAILABLE, retryable=True
        )

    def _hits_of(self, found: Mapping[str, object], max_results: int) -> Sequence[Hit]:
        items = found.get("results") or []
        if not isinstance(items, list):
            raise self._malformed()
        by_address: dict[str, Hit] = {}
        for item in items:
            hit = _hit_of(item)
            if hit is not None:
                by_address.setdefault(normalised_address(hit.url), hit)
        return tuple(by_address.values())[:max_results]

    def _malformed(self) -> ServiceError:
        return ServiceError(
            f"the search engine Tavily ({self._endpoint}) sent an answer that cannot be used; check TAVILY_BASE_URL",
            FailureKind.MALFORMED,
            retryable=True,
        )


def shortened(query: str) -> str:
    """A query of at most `MAX_QUERY_CHARS`, cut between words, or else between characters as a reader sees them."""
    query = one_line(query)
    if len(query) <= MAX_QUERY_CHARS:
        return query
    end = MAX_QUERY_CHARS
    space = query.rfind(" ", end - _WORD_BORDER_WITHIN, end + 1)
    if space > 0:
        return query[:space]
    while end > 1 and (_joins(query[end]) or query[end - 1] == "\u200d"):
        end -= 1
    return query[:end]


def _joins(character: str) -> bool:
    """Whether a character belongs to the one before it: an accent, a skin tone, a part of a joined emoji."""
    return character in _JOINERS or unicodedata.category(character).startswith("M")


def _judged(status: int) -> tuple[FailureKind, str, str]:
    """Kind, happening and remedy of a status; 432 and 433 are Tavily's own words for the limits of a plan."""
    if status == 401:
        return FailureKind.KEY_REFUSED, "refused the key", "; set a valid TAVILY_API_KEY"
    if status in (432, 433):
        which = "plan limit" if status == 432 else "pay-as-you-go limit"
        return FailureKind.QUOTA_SPENT, f"has no credit left, the {which} is reached", "; raise it or use another key"
    if status == 429:
        return FailureKind.RATE_LIMITED, "is asked too often", ""
    if status >= 500 or status == 408:
        return FailureKind.UNAVAILABLE, "is not available", ""
    return FailureKind.REJECTED, "rejected the search", ""


def _json_of(response: httpx.Response) -> object:
    """The JSON of an answer, None when it is none, such as a page of something in between."""
    try:
        return json.loads(response.content)
    except ValueError:
        return None


def _detail_of(response: httpx.Response) -> str:
    """Tavily's own sentence, `detail.error` in its JSON; empty when there is none."""
    detail = _json_of(response)
    for key in ("detail", "error"):
        if isinstance(detail, Mapping):
            detail = detail.get(key, detail)
    return detail if isinstance(detail, str) else ""


def _hit_of(item: object) -> Hit | None:
    """A result as a hit; None without an address that can be opened. Every other field may be missing or null."""
    if not isinstance(item, Mapping):
        return None
    url = one_line(_text(item.get("url"))).replace(" ", "%20")
    if not url.lower().startswith(("http://", "https://")):
        return None
    content = _ENCODED.sub("[…]", clean(_text(item.get("content")))).strip()
    return Hit(
        url=url,
        title=one_line(_text(item.get("title")))[:MAX_TITLE_CHARS] or url,
        content=content if len(content) <= MAX_CONTENT_CHARS else content[: MAX_CONTENT_CHARS - 1] + "…",
        score=_score_of(item.get("score")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _score_of(value: object) -> float | None:
    if isinstance(value, int) and value in (0, 1):  # JSON writes a whole number without its point
        return float(value)
    return value if isinstance(value, float) and math.isfinite(value) else None
