"""The open web for reading, with every inside network closed."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from ipaddress import ip_address

import pytest

from deer.errors import FailureKind, ServiceError
from deer.providers.network import OpenWeb, is_public
from tests.unit.providers.web_server import Answerer, Asked, Reply, WebServer, always

HERE = frozenset({"127.0.0.1"})
PAGE = Reply(body="<p>hello</p>")


@pytest.mark.parametrize(
    "address",
    ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:8.8.8.8", "64:ff9b::808:808", "1.1.1.1"],
)
def test_addresses_of_the_open_internet_are_public(address: str) -> None:
    """Global addresses are public, also as IPv4 inside of IPv6."""
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "10.0.0.5",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "168.63.129.16",
        "100.64.0.1",
        "100.100.100.200",
        "192.0.0.1",
        "192.88.99.1",
        "198.18.0.1",
        "203.0.113.9",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::7f00:1",
        "64:ff9b::7f00:1",
        "64:ff9b::a00:5",
        "64:ff9b:1::1",
        "fe80::1",
        "fec0::1",
        "fd00::1",
        "ff02::1",
        "2002:7f00:1::1",
        "2001:0:7f00:1::1",
        "2001:db8::1",
    ],
)
def test_inside_and_special_addresses_are_not_public(address: str) -> None:
    """Loopback, private, link-local, metadata, shared, relay, multicast and reserved addresses are closed."""
    assert not is_public(ip_address(address))


async def body_of(web: OpenWeb, url: str, max_bytes: int = 1000) -> tuple[bytes, bool]:
    async with web.get(url) as answer:
        body, was_cut = await answer.body(max_bytes)
        return bytes(body), was_cut


async def failure_of(web: OpenWeb, url: str) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        await body_of(web, url)
    return caught.value


@pytest.fixture
async def web() -> AsyncIterator[OpenWeb]:
    """The open web for tests: pages on 127.0.0.1 may be read."""
    opened = OpenWeb(HERE, timedelta(seconds=5))
    yield opened
    await opened.aclose()


INSIDE = [
    "http://127.0.0.1:{port}/",
    "http://localhost:{port}/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://0.0.0.0/",
    "http://0/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://0x7f000001/",
    "http://017700000001/",
    "http://[::]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
    "http://[fd00:ec2::254]/",
    "http://example.org\\@127.0.0.1/",
    "http://127.0.0.1:{port}\\@example.org/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://10.0.0.5/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.100.100.200/",
    "file:///etc/passwd",
    "ftp://example.org/",
    "gopher://127.0.0.1:{port}/",
    "javascript:alert(1)",
    "http://user:pass@example.org/",
    "http://example.org:22/",
    "https://example.org:{port}/",
    "http:///path",
    "http://[::1",
    "not an address",
    "",
]


@pytest.mark.parametrize("url", INSIDE)
async def test_inside_addresses_are_refused_before_anything_is_sent(url: str) -> None:
    """Inside addresses in any spelling, other schemes, ports and users are refused; a listener there hears nothing."""
    web = OpenWeb(frozenset(), timedelta(seconds=5))
    async with WebServer(always(PAGE)) as inside:
        error = await failure_of(web, url.format(port=inside.port))
        assert inside.hits == 0
    await web.aclose()
    assert error.kind is FailureKind.ADDRESS_REFUSED
    assert not error.retryable
    assert "pass@" not in str(error)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1.:{port}/", "http://LOCALHOST.:{port}/", "http://[fe80::1%25lo]:{port}/"]
)
async def test_spellings_that_some_systems_resolve_lead_nowhere(url: str) -> None:
    """A name with a dot at its end, or an address with its interface, is refused or not found, and hears nothing."""
    async with WebServer(always(PAGE)) as inside:
        web = OpenWeb(frozenset(), timedelta(seconds=5), extra_ports=frozenset({inside.port}))
        error = await failure_of(web, url.format(port=inside.port))
        assert inside.hits == 0
    await web.aclose()
    assert error.kind in (FailureKind.ADDRESS_REFUSED, FailureKind.UNREADABLE, FailureKind.UNAVAILABLE)


def redirects_to(location: str, status: int = 302) -> Answerer:
    return lambda asked: Reply(status, b"", {"Location": location}) if asked.target == "/" else PAGE


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed_by_hand(web: OpenWeb, status: int) -> None:
    """A relative redirect leads to the page, whose address is the last one without its fragment."""
    async with WebServer(redirects_to("/next?a=b#part", status)) as server, web.get(server.url) as answer:
        assert answer.url == f"{server.url}/next?a=b"
        assert await answer.start(1000) == b"<p>hello</p>"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.2", "[::1]"])
async def test_a_redirect_to_an_inside_address_is_refused(web: OpenWeb, host: str) -> None:
    """A page that may be read cannot lead to one that may not: the listener there counts no connection."""
    async with WebServer(always(PAGE)) as inside, WebServer(redirects_to(f"http://{host}:{inside.port}/")) as server:
        error = await failure_of(web, server.url)
        assert inside.hits == 0
    assert error.kind is FailureKind.ADDRESS_REFUSED


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://169.254.169.254/", "http://u:p@127.0.0.1/"])
async def test_a_redirect_to_another_kind_of_place_is_refused(web: OpenWeb, location: str) -> None:
    """The rules for addresses hold for each hop."""
    async with WebServer(redirects_to(location)) as server:
        assert (await failure_of(web, server.url)).kind is FailureKind.ADDRESS_REFUSED


async def test_endless_redirects_end(web: OpenWeb) -> None:
    """After five redirects the page is given up as unreadable."""

    def onwards(asked: Asked) -> Reply:
        return Reply(302, b"", {"Location": asked.target + "x"})

    async with WebServer(onwards) as server:
        error = await failure_of(web, server.url)
        assert len(server.asked) == 6
    assert error.kind is FailureKind.UNREADABLE


@pytest.mark.parametrize(
    "address",
    ["10.0.0.5", "::ffff:10.0.0.5", "64:ff9b::a00:5", "2002:a00:5::1", "2001::f5ff:fffa", "0.0.0.0", "169.254.169.254"],
)
async def test_a_name_that_leads_inside_is_refused(address: str) -> None:
    """Whatever form of an inside address a name resolves to, nothing is connected to."""

    async def resolve(host: str, port: int) -> list[str]:
        return [address]

    web = OpenWeb(frozenset(), timedelta(seconds=5), resolve)
    error = await failure_of(web, "http://inside.example/")
    await web.aclose()
    assert error.kind is FailureKind.ADDRESS_REFUSED
    assert address in str(error)


async def test_other_ports_are_read_where_they_are_allowed() -> None:
    """A port that a setting adds may be asked for, of public addresses only."""

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    web = OpenWeb(frozenset(), timedelta(seconds=5), resolve, extra_ports=frozenset({8443}))
    assert "8444" not in str(await failure_of(web, "https://page.example:8443/"))
    assert "only the ports 80, 443, 8443 are read" in str(await failure_of(web, "https://page.example:8444/"))
    await web.aclose()


async def test_one_inside_address_among_several_closes_a_host() -> None:
    """A name with a public and an inside address is refused: which one a client takes is not left to chance."""

    async def resolve(host: str, port: int) -> list[str]:
        return ["93.184.215.14", "10.0.0.5"]

    web = OpenWeb(frozenset(), timedelta(seconds=5), resolve)
    error = await failure_of(web, "http://mixed.example/")
    await web.aclose()
    assert error.kind is FailureKind.ADDRESS_REFUSED
    assert "10.0.0.5" in str(error)


async def test_the_checked_address_is_the_one_connected_to() -> None:
    """A host is looked up once, so that a name which changes its address in between reaches nothing else."""
    looked_up = []
    async with WebServer(always(PAGE)) as server:

        async def resolve(host: str, port: int) -> list[str]:
            looked_up.append(host)
            return ["127.0.0.1"] if len(looked_up) == 1 else ["192.0.2.1"]

        web = OpenWeb(frozenset({"rebinding.example"}), timedelta(seconds=5), resolve)
        assert await body_of(web, f"http://rebinding.example:{server.port}/") == (b"<p>hello</p>", False)
        assert server.asked[0].headers["host"] == f"rebinding.example:{server.port}"
        await web.aclose()
    assert looked_up == ["rebinding.example"]


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch, web: OpenWeb) -> None:
    """A proxy would look hosts up itself, past the guard."""
    async with WebServer(always(Reply(body="from the proxy"))) as proxy, WebServer(always(PAGE)) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert await body_of(web, server.url) == (b"<p>hello</p>", False)
        assert proxy.hits == 0


async def test_long_bodies_are_cut_and_the_rest_is_not_read(web: OpenWeb) -> None:
    """A body beyond the cap is cut there; one that fits exactly is whole."""
    async with WebServer(always(Reply(body=b"x" * 1000))) as server:
        assert await body_of(web, server.url, 999) == (b"x" * 999, True)
        assert await body_of(web, server.url, 1000) == (b"x" * 1000, False)


async def test_an_endless_body_is_cut(web: OpenWeb) -> None:
    """A stream without a length and without an end stops at the cap."""

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"<p>again and again</p>" * 1000
            await asyncio.sleep(0)

    async with WebServer(always(Reply(chunks=endless()))) as server:
        body, was_cut = await body_of(web, server.url, 100_000)
    assert (len(body), was_cut) == (100_000, True)


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_packed_bodies_are_unpacked_up_to_the_cap(
    web: OpenWeb, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    """A body that unpacks to a thousandfold of its size stops at the cap as well."""
    packed = pack(b"\0" * 10_000_000)
    async with WebServer(always(Reply(200, packed, {"Content-Encoding": encoding}))) as server:
        assert await body_of(web, server.url, 100_000) == (b"\0" * 100_000, True)
        assert server.asked[0].headers["accept-encoding"] == "gzip"


async def test_a_body_can_be_looked_at_before_it_is_read(web: OpenWeb) -> None:
    """The beginning does not take anything from the whole, packed or not, nor do several packed bodies in one."""
    text = b"0123456789" * 1_000
    packed = gzip.compress(text[:6_000]) + gzip.compress(text[6_000:])
    for reply in (Reply(body=text), Reply(200, packed, {"Content-Encoding": "gzip"})):
        async with WebServer(always(reply)) as server, web.get(server.url) as answer:
            assert await answer.start(15) == text[:15]
            body, was_cut = await answer.body(20_000)
            assert (bytes(body), was_cut) == (text, False)


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "zstd"])
async def test_other_packings_are_refused(web: OpenWeb, encoding: str) -> None:
    """What was not asked for is not unpacked."""
    async with WebServer(always(Reply(200, b"x", {"Content-Encoding": encoding}))) as server:
        assert (await failure_of(web, server.url)).kind is FailureKind.UNREADABLE


async def test_a_broken_packing_is_unreadable(web: OpenWeb) -> None:
    """Bytes that are not what their header says end as Unreadable."""
    async with WebServer(always(Reply(200, b"plain", {"Content-Encoding": "gzip"}))) as server:
        assert (await failure_of(web, server.url)).kind is FailureKind.UNREADABLE


async def test_a_drip_ends_at_the_time_limit() -> None:
    """Bytes that keep coming one by one do not outlast the time for the whole page."""

    async def drip() -> AsyncIterator[bytes]:
        while True:
            yield b"x"
            await asyncio.sleep(0.02)

    web = OpenWeb(HERE, timedelta(seconds=0.3))
    async with WebServer(always(Reply(chunks=drip()))) as server:
        error = await failure_of(web, server.url)
    await web.aclose()
    assert (error.kind, error.retryable) == (FailureKind.UNAVAILABLE, True)


async def test_an_absent_server_is_unavailable(web: OpenWeb) -> None:
    """A refused connection may be retried."""
    async with WebServer(always(PAGE)) as server:
        url = server.url
    error = await failure_of(web, url)
    assert (error.kind, error.retryable) == (FailureKind.UNAVAILABLE, True)


async def test_an_unknown_host_is_unreadable() -> None:
    """A name that cannot exist is not retried for ever, and says what was looked for."""
    web = OpenWeb(frozenset(), timedelta(seconds=5))
    error = await failure_of(web, "http://" + "a" * 70 + ".example/")
    await web.aclose()
    assert error.kind in (FailureKind.UNREADABLE, FailureKind.UNAVAILABLE)
    assert "aaaa" in str(error)


async def test_a_host_without_an_answer_breaks_off(web: OpenWeb) -> None:
    """A server that speaks no HTTP is unreadable."""

    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(nonsense, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        error = await failure_of(web, f"http://127.0.0.1:{port}/")
    assert error.kind in (FailureKind.UNREADABLE, FailureKind.UNAVAILABLE)
