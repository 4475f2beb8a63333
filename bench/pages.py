"""How long finding the text of a page takes, and what a body without end does to the worker's memory.

A web page of 1 MB with links and tables, a PDF of a hundred pages, the passages of a text of 1 MB; then bodies of
100 MB, without end, packed a thousandfold, and a PDF without end, each read in a process of its own. Prints one JSON
object; exits 1 when a figure is above its bound.
"""

import asyncio
import json
import resource
import subprocess
import sys
import time
import zlib
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from deer.errors import ServiceError
from deer.providers.extractor import BodyKind, Extractor
from deer.providers.pages import EXTRACTION_DEADLINE, WebPages
from tests.unit.providers.page_files import pdf_file
from tests.unit.providers.web_server import Reply, WebServer, always

ROOT = Path(__file__).resolve().parents[1]
MB = 1024 * 1024
HTML_BOUND_S, MEMORY_BOUND_MB = 1.0, 50.0
TRIES = 5
SENTENCE = "In sample {n} the measured value was {v} percent, which is more than the laboratory had expected of it. "
HEAVY = ("announced", "endless", "packed", "pdf")
T = TypeVar("T")


async def measure() -> dict[str, Any]:  # the figures, as they are printed
    """Measure extraction, then memory in a process of its own for each kind of body."""
    html, pdf, text = _web_page(MB), pdf_file(*["\n".join(_sentences(40))] * 100), "\n\n".join(_sentences(MB // 100))
    async with aclosing(Extractor(1, EXTRACTION_DEADLINE)) as extractor:
        await extractor.warm()
        await extractor.select(text[:10_000], "", "the measured value", 12_000)  # loads what it needs
        figures: dict[str, Any] = {
            "web_page_of_1_mb_s": await _quickest(lambda: extractor.extract(html, BodyKind.HTML, None)),
            "web_page_bound_s": HTML_BOUND_S,
            "pdf_of_100_pages_s": await _quickest(lambda: extractor.extract(pdf, BodyKind.PDF, None)),
            "passages_of_1_mb_s": await _quickest(
                lambda: extractor.select(text[: MB - 50_000], "", "the value of sample 7000", 12_000)
            ),
        }
    grown = {kind: await asyncio.to_thread(_growth_in_own_process, kind) for kind in HEAVY}
    return {**figures, "worker_memory_grows_by_mb": grown, "memory_bound_mb": MEMORY_BOUND_MB}


async def _quickest(work: Any) -> float:  # Any: what is awaited is of no interest
    """Seconds of the quickest of some tries, since others use the machine too."""
    seconds = []
    for _ in range(TRIES):
        began = time.perf_counter()
        await work()
        seconds.append(time.perf_counter() - began)
    return round(min(seconds), 3)


def _sentences(count: int) -> list[str]:
    return [SENTENCE.format(n=n, v=n % 97) for n in range(count)]


def _web_page(size: int) -> bytes:
    """An article with links, lists and tables, as long as asked for."""
    parts: list[str] = ["<html><head><title>Samples</title></head><body><nav><a href='/'>Home</a></nav><article>"]
    length = 0
    for n, sentence in enumerate(_sentences(size // 90)):
        part = f"<p>{sentence}<a href='/sample/{n}'>See sample {n}</a>.</p>"
        if n % 20 == 0:
            part += f"<h2>Series {n}</h2><table><tr><th>a</th><th>b</th></tr><tr><td>{n}</td><td>x</td></tr></table>"
        parts.append(part)
        length += len(part)
        if length >= size:
            break
    return "".join([*parts, "</article></body></html>"]).encode()


def _growth_in_own_process(kind: str) -> float:
    """MB by which the memory of a process rises at most while it reads such a body."""
    ran = subprocess.run(
        [sys.executable, "-m", "bench.pages", kind], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    return float(ran.stdout)


async def _growth(kind: str) -> float:
    """The same, in this process."""
    async with aclosing(WebPages(frozenset({"127.0.0.1"}), timedelta(seconds=60))) as pages:
        await pages.warm()
        async with WebServer(
            always(Reply(body="<p>The first page of all, which loads what pages need.</p>"))
        ) as server:
            await pages.read(server.url)
        async with WebServer(always(_heavy(kind))) as server:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            await _read(pages.read(server.url))
            return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


async def _read(reading: Awaitable[T]) -> None:
    try:
        await reading
    except ServiceError as error:  # a PDF beyond the cap is refused
        print(error, file=sys.stderr)


def _heavy(kind: str) -> Reply:
    piece = "".join(f"<p>{sentence}</p>" for sentence in _sentences(600)).encode()

    async def pieces(count: int) -> AsyncIterator[bytes]:
        for _ in range(count):
            yield piece

    if kind == "announced":
        return Reply(headers={"Content-Length": str(100 * MB)}, body=b"<html><body>" + piece * 40)  # read to 2 MB
    if kind == "packed":
        return Reply(headers={"Content-Encoding": "gzip"}, body=_packed())
    if kind == "pdf":
        return Reply(headers={"Content-Type": "application/pdf"}, chunks=_of_pdf(pieces(10**9)))
    return Reply(chunks=pieces(10**9))


def _packed() -> bytes:
    """100 MB in 100 KB, packed without ever being whole, which would raise the memory before it is measured."""
    packing = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    text = b"<p>again and again</p>" * 5_000
    return b"".join([*(packing.compress(text) for _ in range(1_000)), packing.flush()])


async def _of_pdf(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield b"%PDF-1.7\n"
    async for piece in pieces:
        yield piece


def main() -> int:
    """Print the figures; the exit code says whether they hold. With the name of a body, print what it costs alone."""
    if len(sys.argv) > 1:
        print(asyncio.run(_growth(sys.argv[1])))
        return 0
    figures = asyncio.run(measure())
    print(json.dumps(figures, indent=2))
    grown = figures["worker_memory_grows_by_mb"].values()
    return 0 if figures["web_page_of_1_mb_s"] <= HTML_BOUND_S and max(grown) < MEMORY_BOUND_MB else 1


if __name__ == "__main__":
    sys.exit(main())
