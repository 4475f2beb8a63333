"""A search engine as an HTTP service: asked at its pace, within limits, and understood when it refuses.

Redirects are not followed and proxies of the environment not used: a key goes only where the settings send it.
"""

import asyncio
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import urljoin

import httpx2

from deer.errors import FailureKind, ServiceError
from deer.providers.complaints import retry_after, words_of
from deer.providers.endpoints import shown_address, trusted_certificates
from deer.providers.engines.pace import OutOfTurn, Pace

MAX_BODY_BYTES = 5 * 1024 * 1024
"""Twenty results with the text of their pages are below one megabyte."""

USER_AGENT = "deer-temporal/0.1 (research assistant; answers questions of one person at a time)"


@dataclass(frozen=True)
class Answer:
    """What an engine answered. Header names are looked up without regard to case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def parsed(self) -> object:
        """The body as JSON; None when it is none, such as a page of something in between."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def words(self) -> str:
        """The engine's own sentence about a failure, from the JSON that engines wrap it in; empty without one."""
        said = self.parsed
        for key in ("detail", "error", "detail", "message"):
            if isinstance(said, Mapping):
                said = said.get(key, said)
        return said if isinstance(said, str) else ""


@dataclass(frozen=True)
class Refusal:
    """What a refusing answer means: its kind, what happened and what to do, as parts of one sentence."""

    kind: FailureKind
    happening: str
    remedy: str = ""
    wait: timedelta | None = None


Judge = Callable[[Answer], Refusal | None]
"""Understands the answers that are one engine's own; None leaves an answer to the usual meaning of its status."""


@dataclass(frozen=True)
class Access:
    """How an engine is reached.

    `key_setting` and `address_setting`: what a person changes when the key or the address is wrong; empty where there
    is nothing to set. `headers` go with every request; `secrets` are taken out of all that is said.
    """

    name: str
    address: str
    key_setting: str = ""
    address_setting: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


class SearchService:
    """Asks an engine. `timeout` bounds one request, waiting for a turn apart."""

    def __init__(
        self, access: Access, timeout: timedelta, pace: Pace | None = None, judge: Judge = lambda _: None
    ) -> None:
        self._access = access
        self._shown = f"the search engine {access.name} ({shown_address(access.address)})"
        self._seconds = timeout.total_seconds()
        self._judge = judge
        self.pace = pace or Pace()
        self._http = httpx2.AsyncClient(
            headers={"User-Agent": USER_AGENT, **access.headers, "Accept-Encoding": "gzip"},
            timeout=None,  # one clock over all of a request, below
            trust_env=False,
            verify=trusted_certificates(),
        )

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        await self._http.aclose()

    async def get(self, path: str, parameters: Mapping[str, str]) -> Answer:
        """The answer to a GET. Raises ServiceError unless it is a 200."""
        return await self._ask("GET", path, params=dict(parameters))

    async def post(self, path: str, body: Mapping[str, object]) -> Answer:
        """The answer to a POST of JSON. Raises ServiceError unless it is a 200."""
        return await self._ask("POST", path, json=dict(body))

    async def send(self, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """The answer to a POST that an engine's own client wrote. Raises ServiceError unless it is a 200."""
        return await self._ask("POST", path, content=body, headers=dict(headers))

    def items(self, found: object, *path: str) -> list[object]:
        """The list under `path` in an answer's JSON; empty where it is left out or null.

        Raises ServiceError for what is not built like that.
        """
        if not isinstance(found, Mapping):
            raise self.malformed()
        for key in path:
            found = found.get(key) if isinstance(found, Mapping) else found
            if found is None:
                return []
        if not isinstance(found, list):
            raise self.malformed()
        return found

    def malformed(self) -> ServiceError:
        """The error for an answer that cannot be used."""
        setting = self._access.address_setting
        remedy = f"; check {setting}" if setting else ""
        return self._failure(FailureKind.MALFORMED, "sent an answer that cannot be used", remedy, retryable=True)

    def refused(self, refusal: Refusal, words: str = "") -> ServiceError:
        """The error for a refusal, with what the engine said about it."""
        may_pass = refusal.kind in (FailureKind.RATE_LIMITED, FailureKind.UNAVAILABLE)
        told = words_of(words, self._access.secrets)
        return self._failure(
            refusal.kind,
            refusal.happening + (f": {told}" if told else ""),
            refusal.remedy,
            retryable=may_pass,
            wait=refusal.wait if may_pass else None,
        )

    async def _ask(self, method: str, path: str, **content: object) -> Answer:
        try:
            async with self.pace.turn():
                answer = await self._answer(method, self._access.address + path, **content)
        except OutOfTurn as full:
            raise self._failure(
                FailureKind.RATE_LIMITED, "is asked as often as it allows already", retryable=True, wait=full.wait
            ) from None
        if answer.status == 200:
            return answer
        refusal = self._judge(answer) or self._usual_meaning(answer)
        if refusal.wait is not None:
            self.pace.hold_back(refusal.wait)
        happening = f"{refusal.happening} (HTTP {answer.status})"
        raise self.refused(Refusal(refusal.kind, happening, refusal.remedy, refusal.wait), answer.words)

    async def _answer(self, method: str, url: str, **content: object) -> Answer:
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._http.stream(method, url, **content) as response,  # type: ignore[arg-type]  # as httpx2 names them
            ):
                return Answer(response.status_code, response.headers, await self._body(response))
        except TimeoutError:
            what = f"did not answer within {self._seconds:g} s"
            raise self._failure(FailureKind.UNAVAILABLE, what, retryable=True) from None
        except httpx2.TransportError as error:
            words = words_of(str(error), self._access.secrets) or type(error).__name__
            raise self._failure(FailureKind.UNAVAILABLE, f"cannot be reached ({words})", retryable=True) from None

    async def _body(self, response: httpx2.Response) -> bytes:
        """The whole body, unpacked piece by piece so that a small one cannot become endless."""
        is_packed = "gzip" in response.headers.get("content-encoding", "").lower()
        unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        body = bytearray()
        async for piece in response.aiter_raw():
            room = MAX_BODY_BYTES + 1 - len(body)
            try:
                body += unpacking.decompress(piece, room) if is_packed else piece[:room]
            except zlib.error:
                raise self.malformed() from None
            if len(body) > MAX_BODY_BYTES:
                raise self._failure(FailureKind.MALFORMED, f"sent more than {MAX_BODY_BYTES // 1024**2} MB")
        return bytes(body)

    def _usual_meaning(self, answer: Answer) -> Refusal:
        status = answer.status
        if status in (401, 403) and self._access.key_setting:
            return Refusal(FailureKind.KEY_REFUSED, "refused the key", f"; set a valid {self._access.key_setting}")
        if status == 402:
            return Refusal(FailureKind.QUOTA_SPENT, "has no credit left", "; raise its limit or use another key")
        if status == 429:
            return Refusal(FailureKind.RATE_LIMITED, "is asked too often", wait=retry_after(answer.headers))
        if status >= 500 or status == 408:
            return Refusal(FailureKind.UNAVAILABLE, "is not available", wait=retry_after(answer.headers))
        if 300 <= status < 400:
            target = shown_address(urljoin(self._access.address, answer.headers.get("location", "")))
            remedy = f"; set {self._access.address_setting} to that" if self._access.address_setting else ""
            return Refusal(FailureKind.REJECTED, f"sends the search on to {target[:200]}", remedy)
        return Refusal(FailureKind.REJECTED, "rejected the search")

    def _failure(
        self,
        kind: FailureKind,
        happening: str,
        remedy: str = "",
        *,
        retryable: bool = False,
        wait: timedelta | None = None,
    ) -> ServiceError:
        return ServiceError(f"{self._shown} {happening}{remedy}", kind, retryable=retryable, retry_after=wait)
