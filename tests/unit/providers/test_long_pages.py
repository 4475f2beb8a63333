"""Web pages of many thousand elements, which are written in one pass."""

import time

from deer.providers.extraction.web_page import extract_web_page

PARAGRAPH = (
    "<p>In sample {n} the <b>measured</b> value was {n} percent, as <a href='/{n}'>the laboratory</a> wrote.</p>"
)


def long_page(*, before: str = "", inside: str = "", paragraphs: int = 6_000) -> bytes:
    """A page of one article, with something before it and something in its middle."""
    half = [PARAGRAPH.format(n=n) for n in range(paragraphs // 2)]
    body = "".join([before, "<main><h1>Samples</h1>", *half, inside, *half, "</main><footer>imprint</footer>"])
    head = "<title>All samples</title><meta name='author' content='Ann Lee'>"
    return f"<html><head>{head}</head><body>{body}</body></html>".encode()


def test_a_long_page_is_markdown_without_its_navigation() -> None:
    """Headings, lists, tables and code come as in short pages; menus, asides, scripts and the footer do not."""
    inside = (
        "<h2>Lists &amp; tables</h2><!-- no word --><ul><li>first <i>point</i></li><li>second point</li></ul>"
        "<table><tr><th>Model</th><th>COP</th></tr><tr><td><p>A1</p></td><td>3.2 | 3.3</td></tr></table>"
        "<pre>a = 1\n  b</pre><div>after<br>the code<script>alert(1)</script></div>"
    )
    before = "<nav>menu</nav><div class='site-sidebar'>links</div><div role='banner'>shop</div><header>logo</header>"
    page = extract_web_page(long_page(before=before, inside=inside), None)
    assert (page["title"], page["author"], page["cut"]) == ("All samples", "Ann Lee", False)
    assert page["text"].startswith(
        "# Samples\n\nIn sample 0 the measured value was 0 percent, as the laboratory wrote.\n\nIn sample 1 the"
    )
    assert (
        "\n\n## Lists & tables\n\n- first point\n- second point\n\n"
        "| Model | COP |\n| --- | --- |\n| A1 | 3.2 / 3.3 |\n\n"
        "```\na = 1\n  b\n```\n\nafter\n\nthe code\n\n"
    ) in page["text"]
    for left_out in ("menu", "links", "shop", "logo", "imprint", "alert", "no word"):
        assert left_out not in page["text"]


def test_a_name_of_navigation_around_most_of_the_text_counts_for_nothing() -> None:
    """A page whose one container is called a sidebar is not thrown away with it."""
    body = long_page().replace(b"<main>", b"<main class='with sidebar'>")
    assert "In sample 2999 the" in extract_web_page(body, None)["text"]


def test_the_time_for_a_long_page_grows_with_its_length() -> None:
    """A page of 2 MB takes seconds of a slow machine at most: 1 MB is to take below one."""
    body = long_page(paragraphs=20_000)
    assert len(body) > 1_900_000
    began = time.process_time()
    extract_web_page(body, None)
    assert time.process_time() - began < 3


def test_elements_within_elements_without_end_do_no_harm() -> None:
    """Ten thousand elements one inside the other end in some text or none, not in a crash."""
    body = b"<html><body>" + b"<div>word " * 10_000 + b"</body></html>"
    assert "word" in extract_web_page(body, None)["text"]
