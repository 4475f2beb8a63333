"""Reading pages as text."""

import asyncio
import resource
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from deer.errors import FailureKind, ServiceError
from deer.ports import PageReader
from deer.providers.extractor import BodyKind, Extracted, Extractor
from tests.unit.providers.reading import failure_of, page_of
from tests.unit.providers.web_server import Reply, WebServer, always

HERE = frozenset({"127.0.0.1"})
SENTENCE = "The measured value is 30 percent in sample {}, which is more than was expected of it."
PARAGRAPHS = "".join(f"<p>{SENTENCE.format(n)}</p>" for n in range(20))


def html(title: str, body: str, head: str = "") -> str:
    return f"<html><head>{head}<title>{title}</title></head><body>{body}</body></html>"


ARTICLE = html("Page 3", f"<nav><a href='/'>Home</a></nav><article><h1>Heat pumps</h1>{PARAGRAPHS}</article>")


async def test_an_article_is_read_without_what_surrounds_it(pages: PageReader) -> None:
    """Title, headings and paragraphs of an article arrive as Markdown, menus do not."""
    async with WebServer(always(Reply(body=ARTICLE))) as server:
        page = await pages.read(f"{server.url}/page#part")
        assert page.url == f"{server.url}/page"
    assert page.title == "Page 3"
    assert page.text.startswith("# Heat pumps\n\n" + SENTENCE.format(0))
    assert SENTENCE.format(19) in page.text
    assert "Home" not in page.text
    assert not page.cut


async def test_tables_lists_and_sentences_stay_quotable(pages: PageReader) -> None:
    """Tables and lists are Markdown; emphasis and escapes are left out, for quotes are compared word for word."""
    body = (
        "<article><p>A <b>bold</b> claim on <i>snake_case</i> names, 5*3 and [brackets].</p>"
        + PARAGRAPHS
        + "<table><tr><th>Model</th><th>COP</th></tr><tr><td>A1</td><td>3.2</td></tr></table>"
        + "<ul><li>first point</li><li>second point</li></ul></article>"
    )
    text = (await page_of(pages, Reply(body=html("T", body)))).text
    assert "A bold claim on snake_case names, 5*3 and [brackets]." in text
    assert "| A1 | 3.2 |" in text
    assert "- second point" in text


@pytest.mark.parametrize(
    ("body", "content_type", "phrase"),
    [
        (
            html("热泵", f"<article><p>{'热泵在低温下的能效比仍然高于电暖。' * 20}</p></article>").encode("gbk"),
            "text/html",
            "热泵在低温下",
        ),
        (
            html(
                "热泵", f"<article><p>{'热泵在低温下的能效比。' * 20}</p></article>", '<meta charset="gb2312">'
            ).encode("gbk"),
            "text/html",
            "热泵在低温下",
        ),
        (
            html(
                "ポンプ",
                f"<article><p>{'寒冷地のヒートポンプの効率は高い。' * 20}</p></article>",
                '<meta charset="utf-8">',
            ).encode("shift_jis"),
            "text/html",
            "寒冷地のヒートポンプ",
        ),
        (
            html("Q", f"<article><p>{'She said “it’s warm – at last” in the café. ' * 10}</p></article>").encode(
                "cp1252"
            ),
            "text/html; charset=iso-8859-1",
            "“it’s warm – at last” in the café",
        ),
        (
            html("Q", f"<article><p>{'She said “it’s warm” again. ' * 10}</p></article>").encode("cp1252"),
            "text/html",
            "“it’s warm” again",
        ),
        (
            html("Насос", f"<article><p>{'Тепловой насос работает и в мороз. ' * 10}</p></article>").encode("cp1251"),
            'text/html; charset="windows-1251"',
            "Тепловой насос работает",
        ),
        (
            html("热", f"<article><p>{'热泵的能效比很高。' * 20}</p></article>").encode(),
            "text/html; charset=gb2312",
            "热泵的能效比",
        ),
        ("Plain words — not many.".encode("utf-16"), "text/plain", "Plain words — not many."),
        ("寒冷地のヒートポンプの効率は高い。".encode("iso2022_jp"), "text/plain", "寒冷地のヒートポンプ"),
        (("熱泵在低溫下的能效比仍然高於電暖。" * 20).encode("big5"), "text/plain", "熱泵在低溫下"),
    ],
    ids=[
        "gbk",
        "gb2312 meta",
        "shift_jis wrong meta",
        "cp1252 header",
        "cp1252",
        "cp1251",
        "utf-8 mislabelled",
        "utf-16",
        "iso-2022-jp",
        "big5",
    ],
)
async def test_pages_in_other_encodings_are_readable(
    pages: PageReader, body: bytes, content_type: str, phrase: str
) -> None:
    """A known phrase of a page arrives, whether its encoding is declared, missing or declared wrongly."""
    page = await page_of(pages, Reply(body=body, headers={"Content-Type": content_type}))
    assert phrase in page.text


@pytest.mark.parametrize("content_type", ["text/plain", "text/markdown; charset=utf-8", "TEXT/PLAIN"])
async def test_texts_are_read_as_they_are(pages: PageReader, content_type: str) -> None:
    """Plain text and Markdown keep every line; angle brackets are no markup there."""
    text = "# Heading\n\nSome <b>words</b> & more\r\nand a line\x07"
    page = await page_of(pages, Reply(body=text, headers={"Content-Type": content_type}))
    assert page.text == "# Heading\n\nSome <b>words</b> & more\nand a line"
    assert page.title == "Heading"


async def test_a_page_without_a_type_is_recognised(pages: PageReader) -> None:
    """Markup is read as a web page, anything else as text; without a title, the address stands for it."""
    assert (
        await page_of(pages, Reply(body=f"<!DOCTYPE html>{ARTICLE}", headers={"Content-Type": ""}))
    ).title == "Page 3"
    page = await page_of(pages, Reply(body="1 < 2 and some words", headers={"Content-Type": ""}))
    assert page.text == "1 < 2 and some words"
    assert page.title.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("status", [204, 300, 401, 403, 404, 410, 451])
async def test_refusals_of_the_server_are_unreadable(pages: PageReader, status: int) -> None:
    """A status that is no success is no evidence, however much text comes with it."""
    error = await failure_of(pages, Reply(status, b"" if status == 204 else ARTICLE))
    assert (error.kind, error.retryable) == (FailureKind.UNREADABLE, False)
    assert f"HTTP {status}" in str(error)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_passing_failures_may_be_retried(pages: PageReader, status: int) -> None:
    """Where the server may come round the error says so, with the wait it asked for."""
    error = await failure_of(pages, Reply(status, ARTICLE, {"Retry-After": "3"}))
    assert (error.kind, error.retryable) == (FailureKind.UNAVAILABLE, True)
    assert error.retry_after == timedelta(seconds=3)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body=html("Just a moment...", "<h1>example.org</h1><p>Checking your browser before accessing.</p>")),
        Reply(body=html("Attention Required! | Cloudflare", "<h1>Sorry, you have been blocked</h1>")),
        Reply(503, html("Just a moment...", "<p>wait</p>"), {"cf-mitigated": "challenge"}),
        Reply(body=html("Example", "<h1>404 Not Found</h1><p>nothing here, go away</p>")),
        Reply(body="# 404 Not Found", headers={"Content-Type": "text/markdown"}),
        Reply(body="# 404 Not Found"),
        Reply(body=html("App", "<div id='root'></div><script>start()</script>")),
        Reply(body=b""),
    ],
    ids=["bot wall", "blocked", "challenge", "soft 404", "markdown 404", "bare 404", "empty shell", "empty"],
)
async def test_pages_that_say_nothing_are_no_evidence(pages: PageReader, reply: Reply) -> None:
    """Bot walls, error pages that answer 200 and empty shells are failures."""
    assert (await failure_of(pages, reply)).kind is FailureKind.UNREADABLE


async def test_an_article_about_errors_is_an_article(pages: PageReader) -> None:
    """A page whose subject is the error 404 is read."""
    sentences = (f"<p>A server of kind {n} answers 404 Not Found when there is no such page.</p>" for n in range(12))
    body = f"<article><h1>404 Not Found</h1>{''.join(sentences)}</article>"
    assert "no such page" in (await page_of(pages, Reply(body=html("404 Not Found", body)))).text


async def test_long_texts_are_cut_and_say_so(pages: PageReader) -> None:
    """A text beyond a million characters is cut there."""
    page = await page_of(pages, Reply(body="word " * 220_000, headers={"Content-Type": "text/plain"}))
    assert len(page.text) == 1_000_000
    assert page.cut


async def test_huge_and_endless_bodies_stop_at_the_cap(pages: PageReader) -> None:
    """Case W07: 100 MB with a length and a stream without end are read to 2 MB, marked as cut, at little memory."""
    piece = b"<p>again and again, words that fill the page and more of them in each of its paragraphs</p>\n" * 1000

    async def pieces(count: int) -> AsyncIterator[bytes]:
        for _ in range(count):
            yield piece

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    announced = Reply(headers={"Content-Length": str(100 * 2**20)}, body=b"<html><body>" + piece * 25)
    for reply in (announced, Reply(chunks=pieces(10**9))):
        page = await page_of(pages, reply)
        assert page.cut
        assert "words that fill the page" in page.text
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


async def test_inside_addresses_are_refused(pages: PageReader) -> None:
    """The reader refuses what the guard refuses, without a connection."""
    async with WebServer(always(Reply(body=ARTICLE))) as inside:
        with pytest.raises(ServiceError) as caught:
            await pages.read(f"http://localhost:{inside.port}/")
        assert inside.hits == 0
    assert caught.value.kind is FailureKind.ADDRESS_REFUSED


async def test_a_page_that_takes_too_long_is_given_up() -> None:
    """At the deadline the process ends itself, the page is Unreadable, and the next page is read by a new process."""
    slow = html("Slow", f"<article>{PARAGRAPHS * 200}</article>").encode()
    extractor = Extractor(processes=1, deadline=timedelta(seconds=0.2))
    await extractor.warm()
    with pytest.raises(ServiceError, match=r"takes longer than 0\.2 s") as caught:
        await extractor.extract(slow, BodyKind.HTML, None)
    assert caught.value.kind is FailureKind.UNREADABLE
    await extractor.aclose()


async def test_a_cancelled_page_leaves_no_answer_to_the_next() -> None:
    """After a cancellation in the middle of a page, the next page gets its own text."""
    extractor = Extractor(processes=1, deadline=timedelta(seconds=20))
    await extractor.warm()
    slow = html("Slow", f"<article>{PARAGRAPHS * 200}</article>").encode()
    reading = asyncio.create_task(extractor.extract(slow, BodyKind.HTML, None))
    await asyncio.sleep(0.05)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert await extractor.extract(b"short words", BodyKind.TEXT, None) == Extracted(title="", text="short words")
    await extractor.aclose()


async def test_the_processes_hold_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """What parses hostile pages does not see the worker's environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-7f3a")
    extractor = Extractor(processes=1, deadline=timedelta(seconds=20))
    await extractor.warm()
    environments = [environment for pid in children() if (environment := environment_of(pid))]
    await extractor.aclose()
    assert environments
    assert not any(b"canary" in environment for environment in environments)


def children() -> list[str]:
    """Ids of the processes that this one started; empty where the system does not tell."""
    return [pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()]


def environment_of(pid: str) -> bytes:
    """Empty where the process has ended: this one has other children, which come and go."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


async def test_a_warm_reader_adds_little_to_a_page(pages: PageReader) -> None:
    """Once warm, an ordinary page takes milliseconds beyond its server's answer: the median of many stays under 50."""
    async with WebServer(always(Reply(body=ARTICLE))) as server:
        seconds = []
        for _ in range(11):
            started = time.perf_counter()
            await pages.read(f"{server.url}/page")
            seconds.append(time.perf_counter() - started)
    assert sorted(seconds)[5] < 0.05
