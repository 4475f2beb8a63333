"""The report as a web page: safe whatever it holds, complete in itself, and easy to check."""

import base64
import hashlib
import re

from lxml import html  # type: ignore[import-untyped]  # ships no types
from lxml.html import HtmlElement  # type: ignore[import-untyped]

from deer.exports.web_page import web_page
from tests.unit.exports.samples import (
    ARABIC,
    ARABIC_PAGE,
    CHINESE,
    EVERYTHING,
    HEBREW,
    HOSTILE,
    PAGE,
    QUOTE,
    content,
    picture,
)


def page(body: str, **changes: str) -> HtmlElement:
    """The page of a report with this body, parsed as browsers do."""
    return html.document_fromstring(web_page(content(body, **changes)))


def words(element: HtmlElement) -> str:
    """What is read there, in one line."""
    return " ".join(element.text_content().split())


def test_nothing_hostile_is_left_to_act() -> None:
    """Of scripts, foreign addresses, handlers and frames only the words stay."""
    tree = page(HOSTILE)
    body = tree.find("body")
    assert not body.xpath(".//script | .//iframe | .//object | .//svg | .//style | .//form | .//link | .//img")
    assert not [name for element in body.iter() for name in element.attrib if name.startswith("on") or name == "style"]
    followed = set(body.xpath(".//a/@href"))
    assert {link for link in followed if not link.startswith("#")} == {PAGE, ARABIC_PAGE}
    assert "<script>alert(2)</script>" in words(body)
    assert "click data file vb" in words(body)


def test_a_link_leads_where_the_run_was() -> None:
    """What a link adds to the address of a seen page, which could carry something away, is not kept."""
    tree = page("[more](https://a.example/x?utm_source=secret#leak) and [plain](http://www.c.example/seen/)")
    links = {link.text: link.get("href") for link in tree.xpath("//p//a")}
    assert links == {"more": PAGE, "plain": "https://c.example/seen"}
    assert set(tree.xpath("//p//a/@rel")) == {"noopener noreferrer nofollow"}


def test_the_page_loads_nothing_and_says_so_to_the_browser() -> None:
    """The policy forbids all but the page's own style sheet, by its hash, and pictures within the text."""
    tree = page(EVERYTHING)
    policy = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    digest = base64.b64encode(hashlib.sha256(tree.find(".//style").text.encode()).digest()).decode()
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert tree.xpath("//img/@src") == [picture()]
    assert "url(" not in tree.find(".//style").text


def test_a_citation_has_a_card_and_leads_both_ways() -> None:
    """Each marker shows source, quote and what became of its check, and is linked with its entry in the list."""
    tree = page("A heat pump needs less energy. [1] Noise is low. [1]")
    first, second = tree.find_class("cite")
    assert first.find("a").get("href") == "#ref-1"
    card = words(first.find_class("card")[0])
    assert "The first page" in card
    assert "a.example" in card
    assert f"{QUOTE}found word for word in the source" in card
    assert "fridge" not in card
    assert "fridgenot confirmed by the source" in words(second.find_class("card")[0])
    entry = tree.get_element_by_id("ref-1")
    assert [link.get("href") for link in entry.find_class("back")[0]] == ["#cite-1-1", "#cite-1-2"]
    assert {link.get("href")[1:] for link in entry.find_class("back")[0]} == set(tree.xpath("//*[@class='cite']/a/@id"))


def test_markers_in_code_and_of_nothing_are_no_citations() -> None:
    """A number in code stays code, and one that no source has is plain text."""
    tree = page("`[1]` and [9]\n\n    [2]\n")
    assert not tree.find_class("cite")
    assert "[1] and [9]" in words(tree.find("body"))


def test_quotes_are_text() -> None:
    """Tags within a quote are shown, not followed."""
    card = page("Costs differ. [3]").find_class("card")[0]
    assert "costs differ <b>much</b>" in words(card)
    assert "the source says otherwise" in words(card)
    assert not card.xpath(".//b")


def test_every_script_and_structure_survives() -> None:
    """Tables, lists, code and text of every script are there; blocks take the direction of their first letter."""
    tree = page(EVERYTHING)
    text = words(tree.find("body"))
    assert all(written in text for written in (CHINESE, ARABIC, HEBREW, "quoted words", "is no citation here"))
    rows = [[words(cell).replace("[3]", "").split("Notes")[0].strip() for cell in row] for row in tree.xpath("//tr")]
    assert rows == [["Machine", "价格", ARABIC], ["Air", "8,000", "one"], [HEBREW, "9,000", "two"]]
    assert tree.xpath("//tr[2]/td[2]/@class") == ["right"]
    assert tree.xpath("//ol/@start") == ["3"]
    assert {element.get("dir") for element in tree.xpath("//main//p")} == {"auto"}


def test_the_page_has_language_and_direction_of_the_report() -> None:
    """A page in Arabic is laid out from right to left, one in Chinese has its labels in Chinese."""
    tree = page(f"{ARABIC} [1]", title=ARABIC, references="", locale="ar")
    assert (tree.get("lang"), tree.get("dir")) == ("ar", "rtl")
    chinese = page(f"{CHINESE} [1]", title="热泵", references=f"\n## 参考来源\n\n1. [页]({PAGE})\n", locale="zh-CN")
    assert (chinese.get("lang"), chinese.get("dir")) == ("zh-CN", "ltr")
    assert "已在来源中逐字找到" in words(chinese.find_class("card")[0])
    assert chinese.get_element_by_id("ref-1") is not None


def test_title_and_name_cannot_break_out() -> None:
    """What stands in the head of the page is text as well."""
    written = web_page(content("x", title="</title><script>alert(1)</script>"))
    assert not re.search(r"<script", written)
