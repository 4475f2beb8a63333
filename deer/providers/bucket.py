"""The TextStore in a bucket of Amazon S3, or of anything that speaks its protocol.

A text has a directory of its own, `texts/ab/<sha256>/text`. Beside it whoever wants to remove it leaves a mark first,
looks again whether the text is still old, removes it, and takes the mark away; whoever puts it looks at the directory
afterwards, waits while there is a mark, and puts it again if it is gone. S3 shows at once what was written, also in
lists, so that one of the two always sees the other.
"""

import asyncio
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from deer.errors import ExtraMissing, FailureKind, NotFound, ServiceError, SettingsError
from deer.models import bytes_of, hash_of, text_of
from deer.ports import Kept
from deer.providers.stored_names import (
    SHA256,
    TEXTS,
    entries_beside,
    entry_key,
    entry_of,
    text_key,
)

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore

_LOCATION = re.compile(r"s3://(?P<bucket>[^/]+)/?(?P<prefix>.*?)/?")
_REQUEST_TIMEOUT = timedelta(seconds=30)
_CONNECT_TIMEOUT = timedelta(seconds=5)
_MAX_RETRIES = 3
"""Of one request, within a second or two: what only hiccups is nobody's business. Longer outages are Temporal's."""

_TEXT, _MARK = "text", "condemned-"
_MARK_COUNTS = timedelta(minutes=2)
"""An older mark was left by a process that died. Removing takes half of this at most, or is not done."""
_LOOK_EVERY = timedelta(milliseconds=200)
_LISTED_AT_ONCE = 1_000

_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_STATUS = re.compile(r"status code: (\d{3} [A-Za-z ]{1,40})")
_REASON = re.compile(r" - (HTTP error: [^\n]{1,200})")
_REFUSED = frozenset({"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"})
_WRONG_PLACE = frozenset({"NoSuchBucket", "InvalidBucketName", "PermanentRedirect", "AuthorizationHeaderMalformed"})

T = TypeVar("T")


class BucketStore:
    """Implements `deer.ports.PrunableStore` in a bucket that `open_bucket` opened.

    `location` is what messages call it; `clock` gives seconds.
    """

    def __init__(self, location: str, client: "ObjectStore", clock: Callable[[], float] = time.monotonic) -> None:
        self._location = location
        self._client = client
        self._clock = clock

    async def require_writable(self) -> None:
        probe = f"probes/{uuid.uuid4().hex}"
        await self._asked("written", self._client.put_async(probe, b"", use_multipart=False))
        await self._asked("written", self._client.delete_async(probe))

    async def put(self, text: str) -> str:
        data, sha256 = bytes_of(text), hash_of(text)
        directory = text_key(sha256)
        await self._write(f"{directory}/{_TEXT}", data)
        seen: dict[str, float] = {}
        while not await self._stays(directory, seen):
            if await self._read(f"{directory}/{_TEXT}") is None:
                await self._write(f"{directory}/{_TEXT}", data)
            await asyncio.sleep(_LOOK_EVERY.total_seconds())
        return sha256

    async def get(self, sha256: str) -> str:
        text = await self._read(f"{text_key(sha256)}/{_TEXT}") if SHA256.fullmatch(sha256) else None
        if text is None:
            raise NotFound(f"no text {sha256[:64]!r} in the store {self._location}")
        return text

    async def write_entry(self, name: str, text: str) -> None:
        await self._write(entry_key(name), bytes_of(text))

    async def read_entry(self, name: str) -> str | None:
        return await self._read(entry_key(name))

    async def entry_names(self, prefix: str) -> Sequence[str]:
        return [entry.name for entry in await self.entries(prefix)]

    async def texts(self) -> Sequence[Kept]:
        found = await self._listed(TEXTS)
        return [_kept(about, about["path"].split("/")[-2]) for about in found if about["path"].endswith(f"/{_TEXT}")]

    async def entries(self, prefix: str) -> Sequence[Kept]:
        found = [_kept(about, entry_of(about["path"]) or "") for about in await self._listed(entries_beside(prefix))]
        return sorted((entry for entry in found if entry.name.startswith(prefix)), key=lambda entry: entry.name)

    async def remove_text(self, sha256: str, unchanged_since: datetime) -> bool:
        directory = text_key(sha256)
        mark = f"{directory}/{_MARK}{uuid.uuid4().hex}"
        try:
            # A worker that puts the text will not wait longer than the mark counts, so neither may this.
            async with asyncio.timeout(_MARK_COUNTS.total_seconds() / 2):
                await self._write(mark, b"")
                return await self._remove(f"{directory}/{_TEXT}", unchanged_since)
        except TimeoutError:
            return False
        finally:
            await self._asked("written", self._client.delete_async(mark))

    async def remove_entry(self, name: str, unchanged_since: datetime) -> bool:
        return await self._remove(entry_key(name), unchanged_since)

    async def _stays(self, directory: str, seen: dict[str, float]) -> bool:
        """Whether a text that was just put is there and nobody is about to remove it.

        `seen`: since when each mark has been seen, kept from one look to the next. No clock but the bucket's tells
        how old a mark was when the text was put, and none but this process's how long it has been waited for.
        """
        found = await self._listed(directory)
        now = self._clock()
        marks = [about for about in found if not about["path"].endswith(f"/{_TEXT}")]
        counted_s = _MARK_COUNTS.total_seconds()
        marked_at = [mark["last_modified"] for mark in marks if now - seen.setdefault(mark["path"], now) < counted_s]
        try:
            # Only now: a list takes its time, and may show a text that went, with its mark, while it was made.
            text = await self._asked("read", self._client.head_async(f"{directory}/{_TEXT}"))
        except FileNotFoundError:
            return False
        return not any(text["last_modified"] - at < _MARK_COUNTS for at in marked_at)

    async def _remove(self, key: str, unchanged_since: datetime) -> bool:
        try:
            about = await self._asked("read", self._client.head_async(key))
        except FileNotFoundError:
            return False
        if about["last_modified"] > unchanged_since:
            return False
        await self._asked("written", self._client.delete_async(key))
        return True

    async def _listed(self, directory: str) -> Sequence["ObjectMeta"]:
        listing = self._client.list(directory, chunk_size=_LISTED_AT_ONCE)
        return await self._asked("read", listing.collect_async())

    async def _write(self, key: str, data: bytes) -> None:
        # In one request, which makes it whole or not at all; parts of one that broke off would be kept, and paid for.
        await self._asked("written", self._client.put_async(key, data, use_multipart=False))

    async def _read(self, key: str) -> str | None:
        try:
            found = await self._asked("read", self._client.get_async(key))
        except FileNotFoundError:
            return None
        return text_of(bytes(await self._asked("read", found.bytes_async())))

    async def _asked(self, what: str, request: Awaitable[T]) -> T:
        """The answer to a request. FileNotFoundError for a key that is not there, else ServiceError."""
        from obstore.exceptions import BaseError

        try:
            return await request
        except FileNotFoundError as error:
            if what == "read" and "NoSuchBucket" not in str(error):
                raise
            raise self._failure(what, error) from None
        except BaseError as error:
            raise self._failure(what, error) from None

    def _failure(self, what: str, error: Exception) -> ServiceError:
        # The library's text goes over many lines and tells addresses and retries; the code is what a person looks up.
        told = str(error)
        found = [pattern.search(told) for pattern in (_CODE, _STATUS, _REASON)]
        reason = next((match[1] for match in found if match is not None), type(error).__name__)
        is_refused = reason in _REFUSED or reason.startswith(("401", "403"))
        is_wrong = is_refused or reason in _WRONG_PLACE
        remedy = (
            "mend AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the rights of that key in the bucket"
            if is_refused
            else "correct the bucket in DEER_STORE, AWS_REGION and AWS_ENDPOINT_URL"
            if is_wrong
            else "see that the service at AWS_ENDPOINT_URL (Amazon's own when unset) runs and is reached from here"
        )
        return ServiceError(
            f"the store {self._location} cannot be {what} ({reason}); {remedy}",
            FailureKind.STORE_UNWRITABLE,
            retryable=not is_wrong,
        )


def open_bucket(location: str, access: Mapping[str, str]) -> BucketStore:
    """The store in the bucket, and under the prefix, of `s3://bucket/prefix`.

    `access`: AWS_* variables; those that are not in it are taken from the environment. Raises SettingsError where the
    library is not installed or the location is none.
    """
    where = _LOCATION.fullmatch(location)
    if where is None:
        raise SettingsError(f"DEER_STORE={location} is no place in S3; write s3://bucket or s3://bucket/prefix")
    return BucketStore(location, _client(where["bucket"], where["prefix"] or None, access))


def _client(bucket: str, prefix: str | None, access: Mapping[str, str]) -> "ObjectStore":
    try:
        from obstore.exceptions import BaseError
        from obstore.store import S3Store
    except ImportError:
        raise ExtraMissing("DEER_STORE in S3", "s3") from None
    endpoint = access.get("AWS_ENDPOINT_URL", "")
    try:
        return S3Store(
            bucket,
            prefix=prefix,
            config={name.lower(): value for name, value in access.items()},  # type: ignore[arg-type] # names by hand
            client_options={
                "allow_http": endpoint.startswith("http://"),  # written so on purpose, as for a server beside us
                "timeout": _REQUEST_TIMEOUT,
                "connect_timeout": _CONNECT_TIMEOUT,
            },
            retry_config={"max_retries": _MAX_RETRIES, "retry_timeout": _REQUEST_TIMEOUT},
        )
    except (BaseError, ValueError) as error:
        raise SettingsError(f"the AWS_* variables cannot be used ({str(error).splitlines()[0][:200]})") from None


def _kept(about: "ObjectMeta", name: str) -> Kept:
    return Kept(name=name, size_bytes=about["size"], changed_at=about["last_modified"])
