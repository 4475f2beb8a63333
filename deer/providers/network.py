"""The open web for reading, with every inside network closed.

Models and pages name the addresses that are read, so each is hostile until checked. A host is resolved once, all its
addresses must be public, and the connection goes to an address that was checked: between check and connect there is
no second look-up that could answer differently. That holds for every hop of a redirect, and proxies of the environment,
which would resolve for themselves, are not used.
"""

import asyncio
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import httpcore
import httpx

from deer.errors import FailureKind, ServiceError
from deer.models import without_credentials
from deer.providers.endpoints import trusted_certificates
from deer.providers.plain_text import one_line

MAX_REDIRECTS = 5
_CONNECT_SECONDS = 5.0
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NAT64 = ip_network("64:ff9b::/96")
# What `is_global` calls public although nobody's page is there: old site-local addresses, the relays of 6to4 and
# Teredo with the addresses that carry IPv4 inside, local NAT64, addresses for documentation and routing, and the one
# under which each machine in Azure finds its host.
_NOT_PAGES = tuple(
    ip_network(network)
    for network in (
        "192.88.99.0/24",
        "168.63.129.16/32",
        "fec0::/10",
        "2002::/16",
        "2001::/32",
        "64:ff9b:1::/48",
        "3fff::/20",
        "5f00::/16",
    )
)
_HEADERS = (
    ("User-Agent", "Mozilla/5.0 (compatible; deer-temporal/0.1; research reader)"),
    ("Accept", "text/html,application/xhtml+xml,text/markdown,application/pdf;q=0.9,text/plain;q=0.9,*/*;q=0.5"),
    ("Accept-Encoding", "gzip"),
    ("Accept-Language", "en,zh;q=0.9,*;q=0.5"),
)

Address = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Awaitable[list[str]]]


def is_public(address: Address) -> bool:
    """Whether an address is on the open internet. IPv4 inside of IPv6 is judged as what it leads to."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address in _NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return not any(address in network for network in _NOT_PAGES)


async def resolve_by_system(host: str, port: int) -> list[str]:
    """All addresses of a host as the system finds them, in the order to try them. Raises ServiceError."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        passes = error.errno == socket.EAI_AGAIN
        kind = FailureKind.UNAVAILABLE if passes else FailureKind.UNREADABLE
        raise ServiceError(f"the host {host} is not found ({error.strerror})", kind, retryable=passes) from None
    except UnicodeError:  # a label that no name may have
        raise ServiceError(f"the host {host[:100]!r} is no valid name", FailureKind.UNREADABLE) from None
    return [str(address[0]) for _, _, _, _, address in found]


class _GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to checked addresses only. Hosts in `allow_hosts` are not checked."""

    def __init__(self, allow_hosts: Collection[str], resolve: Resolver) -> None:
        self._allow_hosts = allow_hosts
        self._resolve = resolve
        self._plain = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        failure: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in await self.checked_addresses(host, port):
            try:
                return await self._plain.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectError(f"{host} has no address")

    async def checked_addresses(self, host: str, port: int) -> list[str]:
        """All addresses of a host, in the order to try them. Raises ServiceError (AddressRefused) if one is inside."""
        addresses = await self._resolve(host, port)
        if host.lower() not in self._allow_hosts:
            for address in addresses:
                if not is_public(ip_address(address.partition("%")[0])):
                    raise _refused(host, f"its address {address} is inside a network")
        return addresses


class Answer:
    """A page's answer, open for reading. `url` is the address after redirects; header names are in small letters."""

    def __init__(self, url: str, response: httpcore.Response) -> None:
        self.url = url
        self.status: int = response.status
        self.headers: Mapping[str, str] = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
        }
        self._pieces = response.aiter_stream()
        self._packed: _Packed | None = None
        self._body = bytearray()

    async def start(self, least_bytes: int) -> bytes:
        """The beginning of the unpacked body, at least so much of it if there is so much. Raises ServiceError."""
        await self._read(least_bytes)
        return bytes(self._body[:least_bytes])

    async def body(self, max_bytes: int) -> tuple[bytearray, bool]:
        """The unpacked body, at most `max_bytes` of it, and whether there was more. Raises ServiceError.

        Nothing beyond the cap is unpacked or kept.
        """
        await self._read(max_bytes + 1)
        was_cut = len(self._body) > max_bytes
        del self._body[max_bytes:]
        return self._body, was_cut

    async def _read(self, wanted_bytes: int) -> None:
        """Take what comes until there is so much."""
        if self._packed is None:
            self._packed = _Packed(self.headers.get("content-encoding", ""), self.url)
        while len(self._body) < wanted_bytes:
            unpacked = self._packed.take(wanted_bytes - len(self._body))
            if not unpacked:
                piece = await anext(self._pieces, None)
                if piece is None:
                    return
                self._packed.add(piece)
            self._body += unpacked


class OpenWeb:
    """Reads http and https pages of the open internet, on ports 80 and 443 and those in `extra_ports`.

    `allow_hosts` may be inside and on any port, which tests need. `timeout` bounds a whole reading: look-ups,
    redirects and body.
    """

    def __init__(
        self,
        allow_hosts: frozenset[str],
        timeout: timedelta,
        resolve: Resolver = resolve_by_system,
        *,
        extra_ports: frozenset[int] = frozenset(),
    ) -> None:
        self._allow_hosts = frozenset(host.lower() for host in allow_hosts)
        self._ports = frozenset(_PORTS.values()) | extra_ports
        self._seconds = timeout.total_seconds()
        self._backend = _GuardedBackend(self._allow_hosts, resolve)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=trusted_certificates(),
            max_connections=50,
            max_keepalive_connections=20,
            keepalive_expiry=10.0,
            network_backend=self._backend,
        )

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        await self._pool.aclose()

    @asynccontextmanager
    async def get(self, url: str) -> AsyncIterator[Answer]:
        """The answer of the last hop, open for reading its body.

        Raises ServiceError, also from reading the body: AddressRefused before anything is sent to an address that
        must not be read, Unreadable for broken answers and endless redirects, Unavailable where a later try may help.
        """
        try:
            async with asyncio.timeout(self._seconds):
                address = self._checked(url)
                for _ in range(MAX_REDIRECTS + 1):
                    async with self._pool.stream(
                        "GET", _for_pool(address), headers=_HEADERS, extensions=_TIMEOUTS
                    ) as response:
                        answer = Answer(str(address), response)
                        if answer.status not in _REDIRECTS or "location" not in answer.headers:
                            yield answer
                            return
                        address = self._checked(answer.headers["location"], base=address)
                raise ServiceError(f"{url} redirects more than {MAX_REDIRECTS} times", FailureKind.UNREADABLE)
        except TimeoutError:
            raise _unavailable(url, f"did not arrive within {self._seconds:g} s") from None
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            raise _unavailable(url, f"cannot be reached ({one_line(str(error)) or type(error).__name__})") from None
        except httpcore.ProtocolError as error:
            raise ServiceError(
                f"{url} breaks off or breaks HTTP ({one_line(str(error))})", FailureKind.UNREADABLE
            ) from None

    async def require_open(self, url: str) -> None:
        """Raise ServiceError unless `get` would connect to this address: for those who have somebody else read it."""
        address = self._checked(url)
        try:
            async with asyncio.timeout(self._seconds):
                await self._backend.checked_addresses(address.host, address.port or _PORTS[address.scheme])
        except TimeoutError:
            raise _unavailable(url, f"was not found within {self._seconds:g} s") from None

    def _checked(self, url: str, base: httpx.URL | None = None) -> httpx.URL:
        """The address to ask, without its fragment, if it may be asked at all. Raises ServiceError."""
        try:
            address = (base.join(url) if base else httpx.URL(url)).copy_with(fragment=None)
        except (httpx.InvalidURL, ValueError):
            raise _refused(url, "it is no valid address") from None
        if address.scheme not in _PORTS:
            raise _refused(url, "only http and https pages are read")
        if not address.host:
            raise _refused(url, "it names no host")
        if address.userinfo:
            raise _refused(str(address.copy_with(userinfo=b"")), "addresses with a user name or password are not read")
        is_open_port = address.port is None or address.port in self._ports
        if not is_open_port and address.host.lower() not in self._allow_hosts:
            raise _refused(url, f"only the ports {', '.join(map(str, sorted(self._ports)))} are read")
        return address


_TIMEOUTS = {"timeout": {"connect": _CONNECT_SECONDS}}


def _for_pool(address: httpx.URL) -> httpcore.URL:
    """The same address for the pool, from parts that were parsed once: two parsers could see two hosts."""
    return httpcore.URL(scheme=address.raw_scheme, host=address.raw_host, port=address.port, target=address.raw_path)


class _Packed:
    """What came of a body, to be unpacked in as small parts as are asked for."""

    def __init__(self, encoding: str, url: str) -> None:
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ServiceError(f"{url} is packed as {encoding[:40]!r}, which is not read", FailureKind.UNREADABLE)
        self._unpacking = None if name in ("", "identity") else _unpacking()
        self._url = url
        self._left = b""

    def add(self, piece: bytes) -> None:
        """More of it has come."""
        self._left += piece

    def take(self, most_bytes: int) -> bytes:
        """At most so much of the unpacked body; empty when more has to come first. Raises ServiceError."""
        if self._unpacking is None:
            taken, self._left = self._left[:most_bytes], self._left[most_bytes:]
            return taken
        if self._unpacking.eof:  # several packed bodies one after another are one, anything else is no part of it
            self._left = self._left if self._left.startswith(_GZIP_MAGIC) else b""
            self._unpacking = _unpacking() if self._left else self._unpacking
        try:
            taken = self._unpacking.decompress(self._left, most_bytes)
        except zlib.error:
            raise ServiceError(f"{self._url} is packed in a broken way", FailureKind.UNREADABLE) from None
        self._left = self._unpacking.unused_data if self._unpacking.eof else self._unpacking.unconsumed_tail
        return taken


_GZIP_MAGIC = b"\x1f\x8b"


def _unpacking() -> "zlib._Decompress":
    return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # tells gzip and zlib apart by itself


def _refused(url: str, why: str) -> ServiceError:
    told = without_credentials(one_line(url))[:200]
    return ServiceError(f"{told} is not read: {why}", FailureKind.ADDRESS_REFUSED)


def _unavailable(url: str, what: str) -> ServiceError:
    return ServiceError(f"{one_line(url)[:200]} {what}", FailureKind.UNAVAILABLE, retryable=True)
