"""A model, a search engine and a few pages on loopback, answering real HTTP as a script says.

    POST /v1/chat/completions, GET /v1/models   OpenAI's dialect, plain and streamed
    POST /search                                Tavily's dialect
    GET  /page/NAME                             a small article; every search finds three of its own

It runs in a thread, so that tests which block on a process are served too.
"""

import asyncio
import contextlib
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.scripted.calls import Call, CallLog, Json, Kind
from tests.scripted.canaries import MODEL_KEY, SEARCH_KEY
from tests.scripted.replies import (
    REFUSED_KEY,
    Failure,
    Reply,
    Script,
    Stream,
    Text,
    ToolCalls,
    answer_to,
    completion,
    order_fault,
    stream_events,
)
from tests.scripted.roles import default_scripts, role_of

Results = Callable[[str], Sequence[Json]]
"""Search results for a query, in Tavily's shape."""


@dataclass
class Setup:
    """How the services behave. Latencies are seconds before an answer."""

    model_latency_s: float = 0.0
    search_latency_s: float = 0.0
    page_latency_s: float = 0.0
    results: Results | None = None
    """None: three pages named after the query."""
    pages: dict[str, str] = field(default_factory=dict)
    """HTML by name; other names get an article made for them."""
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """What is no HTML in UTF-8, by name: the type that the server says, and the bytes."""
    drips: frozenset[str] = frozenset()
    """Names of pages that come a little at a time: 100 MB in a quarter of an hour."""
    failure: Callable[[Call], Failure | None] | None = None
    """Which failure a call is answered with, if any, on top of those planned by `fail`."""


class Gate:
    """Holds the calls for which `catches` is true until it is opened."""

    def __init__(self, catches: Callable[[Call], bool]) -> None:
        self.catches = catches
        self.caught: list[Call] = []
        self._is_open = threading.Event()

    def open(self) -> None:
        """Let the caught calls go, and all later ones."""
        self._is_open.set()

    async def pass_through(self, call: Call) -> None:
        """Wait with a call until the gate is open."""
        if self._is_open.is_set():
            return
        self.caught.append(call)
        while not self._is_open.is_set():  # noqa: ASYNC110 - a thread opens the gate, and its event cannot be awaited
            await asyncio.sleep(0.01)


@dataclass
class _PlannedFailure:
    of: str
    failure: Failure
    first: int
    left: int


class ScriptedServices:
    """The services, their scripts and their log. A context manager: they listen while it is entered."""

    def __init__(self) -> None:
        self._gates: list[Gate] = []
        self.reset()
        # Only of a socket that names its protocol does asyncio know that answers must not wait for the client's
        # acknowledgement, which would add 40 ms to each.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            self._application(), log_level="critical", ws="none", lifespan="off", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)

    def reset(self) -> None:
        """Begin again with the usual scripts and an empty log, at the same address."""
        self._open_gates()
        self.setup = Setup()
        self.scripts: dict[str, Script] = default_scripts()
        self.log = CallLog()
        self.complaints: list[str] = []
        """What a strict endpoint refused: a fault of the client, whatever became of the run."""
        self.after_answer: Callable[[Call], None] | None = None
        """Told of each answer as soon as the whole of it was handed to the connection, in the services' thread."""
        self._counts: Counter[str] = Counter()
        self._failures: list[_PlannedFailure] = []
        self._gates = []

    def __enter__(self) -> Self:
        self._socket.listen()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open_gates()
        self._server.should_exit = True
        self._thread.join(timeout=5)
        self._socket.close()

    def _open_gates(self) -> None:
        for gate in self._gates:
            gate.open()

    @property
    def url(self) -> str:
        """Where the search engine and the pages are."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    @property
    def model_url(self) -> str:
        """Where the model is: what `OPENAI_BASE_URL` is set to."""
        return f"{self.url}/v1"

    def fail(self, of: str, failure: Failure, *, times: int = 1, first: int = 1) -> None:
        """Fail calls of a role or kind: `times` of them, beginning with its `first`-th."""
        self._failures.append(_PlannedFailure(of, failure, first, times))

    def hold(self, of: str, nth: int = 1, where: Callable[[Call], bool] = lambda call: True) -> Gate:
        """Hold the calls of a role or kind from its `nth` on for which `where` holds, until the gate is opened."""
        gate = Gate(lambda call: of in (call.kind, call.role) and call.nth >= nth and where(call))
        self._gates.append(gate)
        return gate

    def environment(self) -> dict[str, str]:
        """The settings that point the product at these services."""
        return {
            "OPENAI_API_KEY": MODEL_KEY,
            "OPENAI_BASE_URL": self.model_url,
            "BASIC_MODEL": "scripted",
            "TAVILY_API_KEY": SEARCH_KEY,
            "TAVILY_BASE_URL": self.url,
            "SEARCH_API": "tavily",
            "DEER_TEST_ALLOW_HOSTS": "127.0.0.1",
        }

    def _application(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/models", self._models),
                Route("/search", self._search, methods=["POST"]),
                Route("/page/{name}", self._page),
            ]
        )

    async def _models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    async def _chat(self, request: Request) -> Response:
        body = await request.json()
        role = role_of(body)
        call = self._arrived(Kind.MODEL, role, body=body)
        if request.headers.get("authorization") != f"Bearer {MODEL_KEY}":
            return _failed(call, REFUSED_KEY)
        if fault := order_fault(call.messages):
            self.complaints.append(f"{role} call {call.nth}: {fault}")
            return _failed(call, Failure(400, {"error": {"message": fault, "type": "invalid_request_error"}}))
        reply = self._planned_failure(call) or answer_to(call, self.scripts[role], call.nth)
        await self._wait(call, reply, self.setup.model_latency_s)
        if isinstance(reply, Failure):
            return _failed(call, reply)
        return self._watched(call, _said(call, reply))

    async def _search(self, request: Request) -> Response:
        body = await request.json()
        call = self._arrived(Kind.SEARCH, body=body)
        if SEARCH_KEY not in (
            request.headers.get("authorization", "").removeprefix("Bearer "),
            body.pop("api_key", ""),
        ):
            return _failed(call, Failure(401, {"detail": {"error": "Unauthorized: missing or invalid API key."}}))
        failure = self._planned_failure(call)
        await self._wait(call, failure, self.setup.search_latency_s)
        if failure:
            return _failed(call, failure)
        query = str(body.get("query", ""))
        results = self.setup.results(query) if self.setup.results else self._pages_about(query)
        _finish(call, 200)
        found = {"query": query, "results": list(results), "response_time": 0.1, "request_id": "r"}
        return self._watched(call, JSONResponse(found))

    def _pages_about(self, query: str) -> list[Json]:
        name = page_name(query)
        return [
            {
                "title": f"Page {name} {place}",
                "url": f"{self.url}/page/{name}-{place}",
                "content": f"Page {place} gives the measured value of {name} as {place * 10} percent.",
                "score": 1 - place / 10,
                "raw_content": None,
            }
            for place in (1, 2, 3)
        ]

    async def _page(self, request: Request) -> Response:
        name = request.path_params["name"]
        call = self._arrived(Kind.PAGE, path=name)
        failure = self._planned_failure(call)
        await self._wait(call, failure, self.setup.page_latency_s)
        if failure:
            return _failed(call, failure)
        if name in self.setup.drips:
            return StreamingResponse(_drip(call), media_type="text/html")
        _finish(call, 200)
        if name in self.setup.files:
            content_type, body = self.setup.files[name]
            return self._watched(call, Response(body, headers={"Content-Type": content_type}))
        return self._watched(call, HTMLResponse(self.setup.pages.get(name) or article(name)))

    def _arrived(self, kind: Kind, role: str = "", path: str = "", body: Json | None = None) -> Call:
        self._counts[role or kind] += 1
        call = Call(kind, self._counts[role or kind], role, path, body or {})
        self.log.add(call)
        return call

    def _watched(self, call: Call, response: Response) -> Response:
        """The response, after whose last byte the watcher of answers is told."""
        watcher = self.after_answer
        if watcher is not None:

            async def tell() -> None:
                watcher(call)

            response.background = BackgroundTask(tell)
        return response

    def _planned_failure(self, call: Call) -> Failure | None:
        if self.setup.failure is not None and (failure := self.setup.failure(call)):
            return failure
        for planned in self._failures:
            if planned.of in (call.kind, call.role) and call.nth >= planned.first and planned.left > 0:
                planned.left -= 1
                return planned.failure
        return None

    async def _wait(self, call: Call, reply: Reply | None, latency_s: float) -> None:
        await asyncio.sleep(latency_s + (reply.hang_s if isinstance(reply, Failure) else 0.0))
        for gate in self._gates:
            if gate.catches(call):
                await gate.pass_through(call)


def _finish(call: Call, status: int) -> None:
    call.status = status
    call.finished = time.monotonic()


async def _drip(call: Call) -> AsyncIterator[bytes]:
    """A page without end, as far as anybody waits."""
    paragraph = b"<p>" + b"drop " * 220 + b"</p>"
    try:
        for _ in range(100_000_000 // len(paragraph)):
            yield paragraph
            await asyncio.sleep(0.01)
    finally:
        _finish(call, 200)


def _failed(call: Call, failure: Failure) -> Response:
    _finish(call, failure.status)
    if isinstance(failure.body, str):
        return Response(failure.body, failure.status, failure.headers, "text/plain")
    return JSONResponse(failure.body, failure.status, failure.headers)


def _said(call: Call, reply: Text | ToolCalls | Stream) -> Response:
    model = str(call.body.get("model"))
    _finish(call, 200)
    if not call.body.get("stream") and not isinstance(reply, Stream):
        return JSONResponse(completion(model, reply))

    async def events() -> AsyncIterator[str]:
        for event in stream_events(model, reply):
            yield event
            await asyncio.sleep(0)  # each is a piece of its own for the client

    return StreamingResponse(events(), media_type="text/event-stream")


def page_name(query: str) -> str:
    """What the pages that a query finds are named after: its subject, else its first words."""
    subject = re.search(r"subject-[A-Za-z0-9]+", query)
    return subject.group() if subject else "-".join(re.findall(r"[a-z0-9]+", query.lower())[:4]) or "page"


def article(name: str) -> str:
    """A page with a sentence to quote: `the measured value of NAME`, the place at the end of the name left off."""
    subject = re.sub(r"-\d+$", "", name)
    paragraphs = "".join(
        f"<p>In sample {sample} the measured value of {subject} is {sample * 10} percent, as the laboratory wrote.</p>"
        for sample in range(1, 16)
    )
    return (
        f"<html><head><title>Page {name}</title></head><body><article><h1>Page {name}</h1>{paragraphs}"
        "</article></body></html>"
    )


class InsideListener:
    """A service inside the network that nothing may reach: it only counts who connects."""

    def __init__(self) -> None:
        self.hits = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._count, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *exit_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        """The port it listens on."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def _count(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.hits += 1
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
