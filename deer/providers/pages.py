"""Reads pages of the open web as text."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta

from deer.errors import FailureKind, ServiceError
from deer.models import Page, PagePart
from deer.providers.complaints import retry_after
from deer.providers.error_pages import reason_against
from deer.providers.extractor import BodyKind, Extractor
from deer.providers.network import Answer, OpenWeb

MAX_TEXT_BYTES = 2 * 1024 * 1024
"""Web pages and texts are not read beyond this: extraction is superlinear, 1 MB takes 0.6 s and 5 MB 13 s."""
MAX_PAGE_BYTES = 10 * 1024 * 1024
EXTRACTION_DEADLINE = timedelta(seconds=10)
EXTRACTION_PROCESSES = 2

_WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_KINDS = {
    "text/html": BodyKind.HTML,
    "application/xhtml+xml": BodyKind.HTML,
    "text/plain": BodyKind.TEXT,
    "text/markdown": BodyKind.TEXT,
    "text/x-markdown": BodyKind.TEXT,
    "text/csv": BodyKind.TABLE,
    "text/tab-separated-values": BodyKind.TABLE,
    "application/csv": BodyKind.TABLE,
    "application/pdf": BodyKind.PDF,
    "application/x-pdf": BodyKind.PDF,
    _WORD_TYPE: BodyKind.WORD,
}
_WHOLE = frozenset({BodyKind.PDF, BodyKind.WORD})
"""Kinds that cannot be read in part."""
_SAYS_NOTHING = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "application/force-download", "application/x-download"}
)
"""Types of bytes whose server does not know better: they are judged by their beginning."""
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_MARKUP = re.compile(
    rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_MAY_PASS = frozenset({408, 425, 429, 500, 502, 503, 504})
_SNIFFED_BYTES = 1024


class WebPages:
    """Implements `deer.ports.PageReader` for http and https.

    `allow_hosts` may be inside addresses, which tests need. `timeout` bounds fetching a page, `max_bytes` what is read
    of it, `deadline` finding its text. `warm` at the worker's start spares the first page about a second.
    """

    def __init__(
        self,
        allow_hosts: frozenset[str],
        timeout: timedelta,
        max_bytes: int = MAX_PAGE_BYTES,
        deadline: timedelta = EXTRACTION_DEADLINE,
        *,
        extra_ports: frozenset[int] = frozenset(),
    ) -> None:
        self._web = OpenWeb(allow_hosts, timeout, extra_ports=extra_ports)
        self._max_bytes = max_bytes
        self._extractor = Extractor(EXTRACTION_PROCESSES, deadline)

    async def warm(self) -> None:
        """Start what reading needs ahead of the first page."""
        await self._extractor.warm()

    async def aclose(self) -> None:
        """Close connections and end processes; the object is of no use afterwards."""
        await self._web.aclose()
        await self._extractor.aclose()

    async def read(self, url: str) -> Page:
        async with self._web.get(url) as answer:
            _refuse_status(answer)
            declared = answer.headers.get("content-type", "")
            media_type = declared.partition(";")[0].strip().lower()
            kind = _kind_of(await answer.start(_SNIFFED_BYTES), media_type, answer.url)
            cap = self._max_bytes if kind in _WHOLE else min(MAX_TEXT_BYTES, self._max_bytes)
            body, was_cut = await answer.body(cap)
        if was_cut and kind in _WHOLE:
            raise _unreadable(answer.url, f"the file is larger than {self._max_bytes / 2**20:.3g} MB")
        charset = _CHARSET.search(declared)
        try:
            found = await self._extractor.extract(body, kind, charset.group(1) if charset else None)
        except ServiceError as error:
            raise ServiceError(f"{answer.url[:200]}: {error}", error.kind, retryable=error.retryable) from None
        reason = reason_against(found.title, found.text)
        if reason:
            raise _unreadable(answer.url, f"the page {reason}")
        return Page(
            url=answer.url,
            title=found.title or answer.url,
            text=found.text,
            author=found.author,
            published=found.published,
            cut=was_cut or found.cut,
        )

    async def find_parts(self, text: str, title: str, wanted: str, max_chars: int) -> Sequence[PagePart]:
        parts = await self._extractor.select(text, title, wanted, max_chars)
        return tuple(PagePart(start=start, end=end) for start, end in parts)


def _refuse_status(answer: Answer) -> None:
    """Refuse every status but success: Unavailable where the server may come round, else Unreadable."""
    status = answer.status
    if 200 <= status < 300 and status not in (204, 205):
        return
    is_wall = "challenge" in answer.headers.get("cf-mitigated", "")
    if status in _MAY_PASS and not is_wall:
        raise ServiceError(
            f"{answer.url} is not available now (HTTP {status})",
            FailureKind.UNAVAILABLE,
            retryable=True,
            retry_after=retry_after(answer.headers),
        )
    raise _unreadable(answer.url, _MEANINGS.get(status, "the server sends no page") + f" (HTTP {status})")


_MEANINGS: Mapping[int, str] = {
    401: "the page is only for people who log in",
    403: "the server refuses to show the page",
    404: "there is no such page",
    410: "the page is gone",
    451: "the page is withheld for legal reasons",
}


def _kind_of(start: bytes, media_type: str, url: str) -> BodyKind:
    """What a body is, by its first bytes and its type, never by its address. Raises ServiceError.

    PDF and Word documents tell by their beginning, whatever type a server names, and so does what is no text.
    """
    if start.lstrip().startswith(b"%PDF-"):
        return BodyKind.PDF
    if start.startswith(b"PK\x03\x04"):
        return BodyKind.WORD
    if media_type not in _KINDS and media_type not in _SAYS_NOTHING:
        raise _unreadable(url, f"cannot read this type ({media_type[:60]}), only {_READ}")
    is_wide_text = start.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\x00" in start and not is_wide_text:
        raise _unreadable(url, f"cannot read this type (not text), only {_READ}")
    if media_type in _SAYS_NOTHING:
        return BodyKind.HTML if _MARKUP.match(start) else BodyKind.TEXT
    return _KINDS[media_type]


_READ = "web pages, PDF, Word (DOCX), tables (CSV) and texts"


def _unreadable(url: str, why: str) -> ServiceError:
    return ServiceError(f"{url[:200]}: {why}", FailureKind.UNREADABLE)
