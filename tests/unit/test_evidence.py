"""The source register, the check of quotes, and the citations of a report."""

import time

import pytest

from deer.evidence import SourceRegister, belongs_to, check_quote, folded, normalised_address, renumber
from deer.models import Check, Claim, FoundSource, Source


def found(url: str, summary: str = "", **fields: object) -> FoundSource:
    return FoundSource.model_validate({"url": url, "title": f"Title of {url}", "summary": summary, **fields})


def source(source_id: str, url: str, *aliases: str) -> Source:
    return Source(id=source_id, url=url, title=source_id.upper(), aliases=aliases)


@pytest.mark.parametrize(
    "variant",
    [
        "http://ex.test/a",
        "https://ex.test/a/",
        "https://www.ex.test/a?utm_source=x",
        "https://EX.test/a#s2",
        "https://ex.test:443/a?fbclid=1",
    ],
)
def test_variants_of_an_address_are_one(variant: str) -> None:
    """Scheme, `www.`, fragment, tracking, default port and a trailing slash do not make another page."""
    assert normalised_address(variant) == normalised_address("https://ex.test/a")


@pytest.mark.parametrize(
    "other", ["https://ex.test/a?id=1", "https://ex.test/A", "https://ex.test:8443/a", "doc://ex.test/a", "https://["]
)
def test_other_addresses_stay_apart(other: str) -> None:
    """Parameters, paths, ports and schemes that lead elsewhere are other pages; a broken address is its own key."""
    assert normalised_address(other) != normalised_address("https://ex.test/a")
    assert normalised_address("https://ex.test/a?id=1") != normalised_address("https://ex.test/a?id=2")


@pytest.mark.parametrize(
    ("host", "belongs"), [("ex.test", True), ("www.ex.test", True), ("notex.test", False), ("ex.test.org", False)]
)
def test_a_domain_holds_its_hosts_and_no_others(host: str, belongs: bool) -> None:
    """Hosts below a domain belong to it, however it is written; a host that only ends alike does not."""
    assert [belongs_to(host, domain) for domain in ("ex.test", ".EX.test")] == [belongs, belongs]


def test_one_address_is_one_source_of_a_step() -> None:
    """What is found again is added to what is known, under the first id."""
    register = SourceRegister(prefix="s2")
    first = register.add(found("https://ex.test/a", "short"))
    again = register.add(found("http://ex.test/a/", "whole", read=True))
    other = register.add(found("https://ex.test/b"))
    assert (first.id, again.id, other.id) == ("s2-1", "s2-1", "s2-2")
    assert again.seen == ("whole", "short")
    assert again.read
    assert again.url == "https://ex.test/a"


def test_a_merged_source_keeps_the_first_id_and_every_alias() -> None:
    """Ids that other steps gave the same address resolve to the first one, and what they read is kept."""
    register = SourceRegister(prefix="b")
    register.add(found("https://ex.test/a", "seen around"))
    step = SourceRegister(prefix="s1")
    step.add(found("https://ex.test/a", "read in s1", read=True))
    step.add(found("https://ex.test/new", "new"))
    register.merge(step.all())
    assert [s.id for s in register.all()] == ["b-1", "s1-2"]
    known = register.get("s1-1")
    assert known is not None
    assert (known.id, known.read, known.seen) == ("b-1", True, ("read in s1", "seen around"))
    assert register.get("s9-9") is None


def test_merging_a_source_under_its_own_id_keeps_what_was_read_of_it() -> None:
    """A step that was shown a source and builds on steps that read it knows both; it is no alias of itself."""
    shown = Source(id="b-1", url="https://ex.test/a", title="A", summary="seen around")
    register = SourceRegister(prefix="")
    register.merge([shown, shown.model_copy(update={"texts": ("read in s1",), "read": True})])
    known = register.get("b-1")
    assert known is not None
    assert (known.read, known.seen, known.aliases) == (True, ("read in s1", "seen around"), ())


def test_what_a_kept_claim_rests_on_is_kept_with_it() -> None:
    """Of steps left behind, the sources stay that kept claims name, by whatever id."""
    register = SourceRegister(prefix="b")
    register.merge(source(f"{prefix}-1", f"https://ex.test/{prefix}") for prefix in ("b", "s1", "s2", "s3"))
    register.merge([source("s4-1", "https://ex.test/s2")])
    kept = register.behind(("b", "s1"), [Claim(text="It is so.", source_id="s4-1", quote="so")])
    assert [each.id for each in kept.all()] == ["b-1", "s1-1", "s2-1"]
    known = kept.get("s4-1")
    assert known is not None
    assert known.id == "s2-1"


def test_sources_are_told_step_by_step_in_whatever_order_steps_ended() -> None:
    """A run whose steps end in another order, as after a crash, tells its sources in the same order."""
    steps = {
        step: [source(f"{step}-{place}", f"https://{step}.test/{place}") for place in (1, 2)] for step in ("s2", "s10")
    }
    told = []
    for order in (("s2", "s10"), ("s10", "s2")):
        register = SourceRegister(prefix="b")
        register.add(found("https://ex.test/a"))
        for step in order:
            register.merge([*steps[step], source(f"{step}-3", "https://both.test")])
        told.append([known.url for known in register.all()])
    assert told[0] == told[1]
    assert [url.removeprefix("https://") for url in told[0]] == [
        "ex.test/a",
        "s2.test/1",
        "s2.test/2",
        "both.test",
        "s10.test/1",
        "s10.test/2",
    ]


TEXT = "The heat pump’s COP fell to  2.1 at -15 °C,\nas the “winter report” says."


@pytest.mark.parametrize(
    "quote",
    [
        "COP fell to 2.1 at -15 °C",
        "the heat pump's cop fell",
        '"winter report" says',
        "The heat pump … as the “winter report” says",
        "The heat pump’s COP fell to 2.1 at −15 °C, as the",
    ],
)
def test_a_quote_that_stands_there_is_verified(quote: str) -> None:
    """White space, case, typography and an ellipsis between parts do not matter; the words do."""
    assert check_quote(quote, ["another text", folded(TEXT)]) is Check.VERIFIED


@pytest.mark.parametrize(
    "quote", ["COP fell to 3.1", "", "2.1", "says … The heat pump", "the winter report was wrong about it"]
)
def test_a_quote_that_does_not_stand_there_is_unverified(quote: str) -> None:
    """Other figures, parts in another order, nothing at all, and words too few to mean anything are not verified."""
    assert check_quote(quote, [folded(TEXT)]) is Check.UNVERIFIED


SOURCES = (
    source("b-1", "https://ex.test/a", "s1-1"),
    source("s1-2", "https://ex.test/b"),
    source("s2-1", "doc://c/d.md"),
)
WIKI = source("s3-1", "https://wiki.test/Pump_(heat)")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("One [s1-2]. Two [b-1]. One again [s1-2].", "One [1]. Two [2]. One again [1]."),
        ("Alias [s1-1] and [b-1].", "Alias [1] and [1]."),
        ("Both [b-1, s1-2].", "Both [1][2]."),
        ("Twice [b-1][b-1].", "Twice [1]."),
        ("A link [to it](https://ex.test/b/).", "A link to it [1]."),
        ("A file [notes](doc://c/d.md) and doc://c/d.md.", "A file notes [1] and [1]."),
        ("Bare https://ex.test/a, and <http://www.ex.test/b>.", "Bare [1], and [2]."),
        ("Code `[s1-2]` stays.", "Code `[s1-2]` stays."),
        ("See 【b-1】.", "See [1]."),
        ("中文[b-1]。", "中文[1]。"),
    ],
)
def test_citations_become_numbers_in_order_of_use(written: str, expected: str) -> None:
    """Markers, aliases, links and bare addresses of known sources become `[n]`; code does not."""
    cited = renumber(written, SOURCES)
    assert cited.text == expected
    assert (cited.removed_markers, cited.removed_links) == (0, 0)


@pytest.mark.parametrize(
    ("written", "expected", "markers", "links"),
    [
        ("Made up [s9-9].", "Made up.", 1, 0),
        ("Half [s9-9, b-1].", "Half [1].", 1, 0),
        ("A number [7] of its own [2, 3].", "A number of its own.", 2, 0),
        ("Durable execution[1] and 持久执行[1]很好.", "Durable execution and 持久执行很好.", 2, 0),
        ("Footnotes[^1] and 【2†source】 too.", "Footnotes and too.", 2, 0),
        ("[the study][1] says\n\n[1]: https://evil.test/x", "the study says", 1, 1),
        ("A [page](https://example.com/market).", "A page.", 0, 1),
        ("See https://nature.test/xyz.", "See.", 0, 1),
        ("![p](https://evil.test/p?q=secret) seen", "p seen", 0, 1),
        ("[x](javascript:alert(1)) y", "x y", 0, 1),
        ("Loud HTTPS://EVIL.example/caps and www.evil.example.", "Loud  and.", 0, 2),
        ("x\n\n[ref]: //evil.example/def", "x", 0, 1),
        ("Fact [b-1].\n\n[1]: evil.example/x", "Fact [1].", 0, 1),
        ("Fact [b-1].\n\n> [1]: mailto:x@evil.test", "Fact [1].", 0, 1),
        ("x\n\n[c]:\n javascript:alert(1)", "x", 0, 1),
        ("[z](javascript:a(b(c)))", "[z] (javascript:a(b(c)))", 0, 0),
        ("[y]( javascript:alert(`1`) )", "[y] ( javascript:alert(`1`) )", 0, 0),
        ("[Note]: as measured in May.", "[Note]: as measured in May.", 0, 0),
        ("a <img\nsrc=x\nonerror=alert(1)> b", "a  b", 0, 0),
        ("a <img src='https://evil.test'> b <script>c</script>", "a  b c", 0, 0),
    ],
)
def test_what_cites_nothing_known_is_taken_out_and_counted(
    written: str, expected: str, markers: int, links: int
) -> None:
    """Unknown markers, numbers of the writer's own, unseen addresses, images and HTML do not reach the reader."""
    cited = renumber(written, SOURCES)
    assert cited.text == expected
    assert (cited.removed_markers, cited.removed_links) == (markers, links)


@pytest.mark.parametrize("heading", ["## References", "# Sources:", "### 参考文献", "## 5. Reference list"])
def test_a_reference_list_of_the_writers_own_is_dropped(heading: str) -> None:
    """Code writes the list of references; the writer's would name other numbers."""
    cited = renumber(f"# R\n\nFact [b-1].\n\n{heading}\n\n1. [x](https://example.com)\n2. y", SOURCES)
    assert cited.text == "# R\n\nFact [1]."
    assert cited.removed_links == 0


def test_a_last_section_of_sentences_stays() -> None:
    """A section is a list of references by its lines, not by its heading alone."""
    text = "# R\n\n## Sources\n\nThe ground is the best source of heat [b-1]. It costs 10."
    assert renumber(text, SOURCES).text == text.replace("[b-1]", "[1]")


def test_a_section_about_sources_in_the_middle_stays() -> None:
    """Only the last section can be a list of references."""
    text = "# R\n\n## Sources\n\nOf heat.\n\n## End\n\nDone."
    assert renumber(text, SOURCES).text == text


def test_a_fence_around_the_whole_report_is_taken_off() -> None:
    """A report in a code fence is the report; a fence inside it stays."""
    inner = "# R\n\nFact [b-1].\n\n```python\nx = a[1]\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    cited = renumber(f"````markdown\n{inner}\n````", SOURCES)
    assert cited.text == inner.replace("[b-1]", "[1]")


@pytest.mark.parametrize(
    "text",
    [
        "[" + "a" * 60_000,
        "<!--" * 15_000,
        "[s1-2," * 10_000,
        "[a](" * 15_000,
        "![" * 30_000,
        "【1" * 20_000,
        "<a " * 20_000,
        "[a]:" * 20_000,
        "\n[a]: b " * 10_000,
    ],
)
def test_no_report_takes_long(text: str) -> None:
    """Patterns do not try all ways through a long line, which would hold the worker: a second is plenty."""
    began = time.process_time()
    renumber(text, SOURCES)
    assert time.process_time() - began < 5


def test_a_fence_that_nothing_closes_is_taken_out() -> None:
    """It would make code of the rest of the report, its citations and its references."""
    assert renumber("# R\n\n```python\nx = 1\n\nFact [b-1].", SOURCES).text == "# R\n\nx = 1\n\nFact [1]."


def test_an_address_may_hold_parentheses() -> None:
    """Addresses such as those of encyclopaedias are recognised whole, in links and bare."""
    text = 'A [pump](https://wiki.test/Pump_(heat) "title") and (https://wiki.test/Pump_(heat)).'
    assert renumber(text, [WIKI]).text == "A pump [1] and ([1])."
