"""A web server on loopback that answers byte for byte what a test says, and remembers what it was asked."""

import asyncio
import json
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

Json = dict[str, Any]  # what services answer has no closed type


@dataclass(frozen=True)
class Asked:
    """A request as it arrived; header names are in small letters."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        """The body as JSON."""
        parsed: Json = json.loads(self.body)
        return parsed


@dataclass(frozen=True)
class Reply:
    """What to answer. With `chunks` the body is sent piece by piece, without a length, until there are no more."""

    status: int = 200
    body: bytes | str | Json = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: AsyncIterable[bytes] | None = None

    @property
    def content(self) -> bytes:
        """The body as bytes."""
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()

    @property
    def content_type(self) -> str:
        """JSON for a mapping, else HTML."""
        return "application/json" if isinstance(self.body, dict) else "text/html"


Answerer = Callable[[Asked], Reply]


class WebServer:
    """Serves `answer` on a port of its own. `hits` counts connections, `asked` holds the requests."""

    def __init__(self, answer: Answerer) -> None:
        self._answer = answer
        self.asked: list[Asked] = []
        self.hits = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *exit_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        """The port it listens on."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.hits += 1
        self._writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                asked = await _read(reader)
                self.asked.append(asked)
                await _write(writer, self._answer(asked))
        self._writers.discard(writer)
        writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    pairs = (line.split(":", 1) for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, target, headers, body)


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> None:
    headers: Json = {"Content-Type": reply.content_type, **reply.headers}
    if reply.chunks is None:
        headers.setdefault("Content-Length", str(len(reply.content)))
    else:
        headers["Transfer-Encoding"] = "chunked"
    writer.write(_head(reply.status, headers.items()))
    if reply.chunks is None:
        writer.write(reply.content)
        await writer.drain()
        return
    async for chunk in reply.chunks:
        writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def in_turn(*replies: Reply) -> Answerer:
    """One reply after another; the last one is repeated."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def always(reply: Reply) -> Answerer:
    """The same reply to every request."""
    return lambda _: reply
