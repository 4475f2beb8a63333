"""The tool calls of models: arguments are taken as they are or refused, and claims are bounded."""

import pytest

from deer.errors import InvalidInput
from deer.models import RawToolCall
from deer.parsing import MAX_CLAIMS, arguments_of, parse_finding, parse_tool_call
from tests.unit.parsing.written import call

TOOLS = frozenset({"web_search", "read_page", "submit_finding"})


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (call("web_search", '{"query": "a'), "not valid JSON"),
        (call("web_search", "{'query': 'x'}"), "not valid JSON"),
        (call("web_search", '{"query": "x",}'), "not valid JSON"),
        (call("web_search", '```json\n{"query": "x"}\n```'), "not valid JSON"),
        (call("web_search", "[1]"), "must be a JSON object"),
        (call("web_search", '{"query": ' + "[" * 70 + "]" * 70 + "}"), "levels deep"),
        (call("web_search", "{}"), "query"),
        (call("web_search", '{"query": "  "}'), "query"),
        (call("web_search", '{"query": "x", "max_results": 500}'), "max_results"),
        (call("web_search", '{"query": "x", "topic": "gossip"}'), "topic"),
        (call("read_page", '{"url": 7}'), "url"),
        (call("search_web", '{"query": "x"}'), "read_page, submit_finding, web_search"),
    ],
)
def test_a_bad_tool_call_carries_what_to_tell_the_model(asked: RawToolCall, said: str) -> None:
    """Invalid JSON, wrong types and unknown tools are not guessed at: the call has the error, under its id."""
    parsed = parse_tool_call(asked, TOOLS)
    assert parsed.id == "c1"
    assert said in (parsed.error or "")


def test_a_second_submission_is_no_page() -> None:
    """Only the tools that look something up can be made; handing in is for once, and alone."""
    assert "call it once and alone" in (parse_tool_call(call("submit_finding", "{}"), TOOLS).error or "")


@pytest.mark.parametrize("text", ["{" * 300_000, '{"a":' * 3_000, "[" * 100_000])
def test_arguments_of_brackets_are_refused_at_once(text: str) -> None:
    """Text that only looks like JSON costs no minute and no stack: it is refused like any other."""
    assert parse_tool_call(call("web_search", text), TOOLS).error


def test_half_characters_in_arguments_are_replaced() -> None:
    """An escape can bring half a character into JSON; no payload could carry it."""
    assert arguments_of(call("web_search", '{"query": "\\ud800"}')) == {"query": "?"}


def test_claims_are_bounded_in_bytes() -> None:
    """Claims in Chinese weigh three times their characters."""
    claim = '{"text": "' + "热" * 600 + '", "quote": "' + "泵" * 600 + '"}'
    with pytest.raises(InvalidInput, match="claims: 36000 bytes"):
        parse_finding(call("submit_finding", f'{{"summary": "S", "claims": [{", ".join([claim] * 10)}]}}'))


def test_a_good_tool_call_has_its_arguments() -> None:
    """Arguments that fit reach the step; those left out have their defaults."""
    search = parse_tool_call(call("web_search", '{"query": " heat pumps ", "topic": "news"}'), TOOLS)
    assert (search.error, search.query, search.topic, search.depth) == (None, "heat pumps", "news", "advanced")
    assert parse_tool_call(call("read_page", '{"url": "https://a.example"}'), TOOLS).url == "https://a.example"
    assert arguments_of(call("submit_finding", "")) == {}


def test_a_finding_is_read_with_its_claims() -> None:
    """Brackets around a source id are not part of it; a claim without source or quote is a claim all the same."""
    finding = parse_finding(
        call(
            "submit_finding",
            '{"summary": " S ", "claims": [{"text": "A", "source_id": "[s1-2]", "quote": "q"}, {"text": "B"}]}',
        )
    )
    assert finding.summary == "S"
    assert [(c.text, c.source_id, c.quote) for c in finding.claims] == [("A", "s1-2", "q"), ("B", "", "")]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ("{}", "summary"),
        ('{"summary": "  "}', "summary"),
        ('{"summary": "S", "claims": [{"quote": "q"}]}', "claims.0.text"),
        ('{"summary": "S", "claims": "none"}', "claims"),
        (f'{{"summary": "S", "claims": [{", ".join(["{}"] * (MAX_CLAIMS + 1))}]}}', "claims"),
    ],
)
def test_a_bad_finding_is_refused_by_field(arguments: str, field: str) -> None:
    """A finding without summary or with broken claims names what is wrong."""
    with pytest.raises(InvalidInput, match=field):
        parse_finding(call("submit_finding", arguments))
