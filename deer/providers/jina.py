"""Reading pages through Jina Reader, a service that runs a browser and gives a page as Markdown."""

import asyncio
import json
import re
from collections.abc import Mapping
from datetime import timedelta

import httpx

from deer.errors import FailureKind, ServiceError
from deer.models import MAX_TITLE_CHARS, Page
from deer.providers.complaints import retry_after, words_of
from deer.providers.endpoints import checked_key, is_on_this_machine, shown_address, trusted_certificates
from deer.providers.error_pages import reason_against
from deer.providers.extraction.extracted import MAX_TEXT_CHARS
from deer.providers.network import OpenWeb
from deer.providers.plain_text import clean, one_line

JINA_ADDRESS = "https://r.jina.ai"

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_PAGE_FAILED = re.compile(r"target url returned error (\d+)", re.IGNORECASE)


class JinaReader:
    """Reads pages by asking Jina Reader, or a service of one's own that speaks as it does.

    `api_key` None asks without one, under lower limits. `web` checks each address as if it were read from here: the
    service is told of no inside address. `timeout` bounds the asking for one page, `max_bytes` the answer.
    """

    def __init__(
        self, api_key: str | None, base_url: str | None, web: OpenWeb, timeout: timedelta, max_bytes: int
    ) -> None:
        key = checked_key(api_key, "JINA_API_KEY") if api_key is not None else None
        address = (base_url or JINA_ADDRESS).rstrip("/")
        self._secrets = (key,) if key else ()
        self._endpoint = shown_address(address)
        self._web = web
        self._seconds = timeout.total_seconds()
        self._max_bytes = max_bytes
        self._http = httpx.AsyncClient(
            base_url=address,
            headers={
                "Accept": "application/json",
                "X-Return-Format": "markdown",
                "X-Retain-Images": "none",
                "X-Retain-Links": "text",  # targets within sentences would keep quotes from being found
                "X-Timeout": str(max(1, int(self._seconds) - 5)),
                **({"Authorization": f"Bearer {key}"} if key else {}),
            },
            timeout=self._seconds,
            trust_env=not is_on_this_machine(address),
            verify=trusted_certificates(),
        )

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        await self._http.aclose()

    async def read(self, url: str) -> Page:
        """The page as the service gives it. Raises as `PageReader.read`, and KeyRefused and QuotaSpent."""
        await self._web.require_open(url)
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._http.stream("POST", "/", json={"url": url}) as response,
            ):
                answer = await self._answer(response)
                if response.status_code != 200:
                    raise self._refusal(response, answer, url)
        except (TimeoutError, httpx.TimeoutException):
            raise self._unavailable(f"did not answer within {self._seconds:g} s") from None
        except httpx.HTTPError as error:
            raise self._unavailable(f"cannot be reached ({words_of(str(error), self._secrets)})") from None
        return self._page(answer.get("data"), url)

    async def _answer(self, response: httpx.Response) -> Mapping[str, object]:
        """The JSON of an answer; empty when it is none."""
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > self._max_bytes:
                raise ServiceError(
                    f"the answer of Jina Reader is larger than {self._max_bytes / 2**20:.3g} MB", FailureKind.UNREADABLE
                )
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            return {}
        return answer if isinstance(answer, Mapping) else {}

    def _refusal(self, response: httpx.Response, answer: Mapping[str, object], url: str) -> ServiceError:
        status = response.status_code
        words = words_of(str(answer.get("readableMessage") or answer.get("message") or ""), self._secrets)
        told = f" (HTTP {status})" + (f": {words}" if words else "")
        if status == 401:
            kind, what = FailureKind.KEY_REFUSED, f"refused the key{told}; set a valid JINA_API_KEY"
        elif status == 402:
            kind, what = FailureKind.QUOTA_SPENT, f"has no credit left{told}; top up the key or set another"
        elif status == 429:
            kind, what = FailureKind.RATE_LIMITED, f"is asked too often{told}"
        elif status >= 500 or status == 408:
            kind, what = FailureKind.UNAVAILABLE, f"is not available{told}"
        else:
            return ServiceError(f"{url[:200]}: Jina Reader cannot read it{told}", FailureKind.UNREADABLE)
        may_pass = kind in (FailureKind.RATE_LIMITED, FailureKind.UNAVAILABLE)
        wait = retry_after(response.headers) if may_pass else None
        return ServiceError(f"Jina Reader ({self._endpoint}) {what}", kind, retryable=may_pass, retry_after=wait)

    def _unavailable(self, what: str) -> ServiceError:
        return ServiceError(f"Jina Reader ({self._endpoint}) {what}", FailureKind.UNAVAILABLE, retryable=True)

    def _page(self, data: object, url: str) -> Page:
        if not isinstance(data, Mapping) or not isinstance(data.get("content"), str):
            raise ServiceError(
                f"Jina Reader ({self._endpoint}) sent an answer that cannot be used; check JINA_BASE_URL",
                FailureKind.MALFORMED,
                retryable=True,
            )
        if failed := _PAGE_FAILED.search(str(data.get("warning") or "")):
            raise ServiceError(f"{url[:200]}: there is no page (HTTP {failed[1]})", FailureKind.UNREADABLE)
        title = one_line(str(data.get("title") or ""))[:MAX_TITLE_CHARS]
        text = clean(str(data["content"])).strip()
        if reason := reason_against(title, text):
            raise ServiceError(f"{url[:200]}: the page {reason}", FailureKind.UNREADABLE)
        final = one_line(str(data.get("url") or ""))
        published = _DATE.match(str(data.get("publishedTime") or ""))
        return Page(
            url=final if final.startswith(("http://", "https://")) else url,
            title=title or url,
            text=text[:MAX_TEXT_CHARS],
            published=published.group() if published else "",
            cut=len(text) > MAX_TEXT_CHARS,
        )
