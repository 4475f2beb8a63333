"""Model text and human input into models: what is taken, and what an error names."""

from typing import Any

import pytest

from deer.errors import InvalidInput
from deer.models import PlanRules, RawToolCall, StepType
from deer.parsing import (
    MAX_CLAIMS,
    arguments_of,
    json_object,
    parse_finding,
    parse_plan,
    parse_tool_call,
    sane_locale,
)

RULES = PlanRules(max_steps=5)
SHOWN = PlanRules(max_steps=5, known_ids=("s1", "s2", "s3"), finished_ids=("s1",))
TOOLS = frozenset({"web_search", "read_page", "submit_finding"})


def step(title: str = "Costs", **fields: Any) -> dict[str, Any]:
    return {"title": title, "description": f"About {title}", "step_type": "research", **fields}


def plan(*steps: Any, **fields: Any) -> dict[str, Any]:
    return {"title": "T", "thought": "t", "steps": list(steps), **fields}


def call(name: str, arguments: str) -> RawToolCall:
    return RawToolCall(id="c1", name=name, arguments=arguments)


@pytest.mark.parametrize(
    "text",
    [
        '{"title": "T"}',
        '```json\n{"title": "T"}\n```',
        '```\n{"title": "T"}\n```',
        'Here is the plan:\n{"title": "T"}\nI hope it helps {truly}.',
        '<think>Maybe {"steps": []} would do?</think>\n{"title": "T"}',
        '\ufeff{"title": "T"}',
        'An aside {"a": 1} and then the plan {"title": "T"}',
    ],
)
def test_the_object_of_a_reply_is_found(text: str) -> None:
    """Fences, prose, reasoning and small objects beside it do not hide the JSON object of a reply."""
    assert json_object(text) == {"title": "T"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("1. Find the market size", "no JSON object"),
        ('{"title": "T", "steps": [{"title": "cut o', "no JSON object"),
        ("[1, 2]", "no JSON object"),
    ],
)
def test_a_reply_without_a_whole_object_is_refused(text: str, said: str) -> None:
    """Prose, lists, nothing at all and an object that breaks off give an error, never a guess."""
    with pytest.raises(InvalidInput, match=said):
        json_object(text)


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (None, "a plan is an object"),
        ([], "a plan is an object"),
        (plan(step(), title=""), "title"),
        (plan(step(), title=7), "title"),
        ({"title": "T"}, "steps"),
        (plan(), "steps"),
        (plan({}), "steps.0.title"),
        (plan("look around"), "steps.0"),
        (plan(step(), step()), "steps.1.title"),
        (plan(step(), step("costs")), "steps.1.title"),
        (plan(step(step_type="guess")), "steps.0.step_type"),
        (plan(step(need_search="maybe")), "steps.0.need_search"),
        (plan(step(description="x" * 100_000)), "steps.0.description"),
        (plan(step(description=["x"])), "steps.0.description"),
        (plan(step(depends_on="s1")), "steps.0.depends_on"),
        (plan(step(depends_on=[True])), "steps.0.depends_on"),
        (plan(step(depends_on=[2])), "steps.0.depends_on"),
        (plan(step(depends_on=[0])), "steps.0.depends_on"),
        (plan(step(depends_on=["s9"])), "steps.0.depends_on"),
        (plan(step(depends_on=[1])), "steps.0.depends_on"),
        (plan(step("A", depends_on=[2]), step("B", depends_on=[1])), "depends_on"),
        (plan(step("A", depends_on=[2]), step("B", step_type="analysis")), "depends_on"),
        (plan(step(id=["s1"])), "steps.0.id"),
        (plan(*(step(f"S{n}") for n in range(6))), "steps"),
    ],
)
def test_a_plan_that_breaks_a_rule_is_refused_by_field(data: object, field: str) -> None:
    """Each rule of a plan has an error that begins with the field it concerns."""
    with pytest.raises(InvalidInput) as caught:
        parse_plan(data, RULES)
    assert str(caught.value).startswith(field) or (field == "depends_on" and field in str(caught.value))


def test_types_are_taken_in_any_case_and_default_by_search() -> None:
    """`RESEARCH` is research; without a type a step that searches is research and another is processing."""
    draft = parse_plan(
        plan(
            step("A", step_type="RESEARCH"),
            {"title": "B", "need_search": "true"},
            {"title": "C", "need_search": False, "step_type": None},
        ),
        RULES,
    )
    assert [s.step_type for s in draft.steps] == [StepType.RESEARCH, StepType.RESEARCH, StepType.PROCESSING]
    assert [s.need_search for s in draft.steps] == [False, True, False]
    assert draft.steps[1].description == "B"


def test_ids_of_a_first_plan_are_labels() -> None:
    """Where no plan was shown, ids of any kind serve only the dependencies of that reply."""
    draft = parse_plan(plan(step("A", id="first"), step("B", id=2, depends_on=["first"]), step("C")), RULES)
    assert [s.id for s in draft.steps] == [None, None, None]
    assert draft.steps[1].depends_on == (1,)
    assert draft.steps[2].depends_on is None


def test_ids_of_a_shown_plan_must_exist() -> None:
    """Where a plan was shown, a step keeps its id, an unknown id is refused, and finished steps may be depended on."""
    draft = parse_plan(plan(step("B", id="s2"), step("New", depends_on=["s1", "s2", 1])), SHOWN)
    assert [s.id for s in draft.steps] == ["s2", None]
    assert draft.steps[1].depends_on == ("s1", "s2", 1)
    with pytest.raises(InvalidInput, match=r"steps\.0\.id: no step 's7'"):
        parse_plan(plan(step(id="s7")), SHOWN)
    with pytest.raises(InvalidInput, match=r"depends_on: no step 's3'"):
        parse_plan(plan(step(depends_on=["s3"])), SHOWN)
    with pytest.raises(InvalidInput, match=r"steps\.1\.id"):
        parse_plan(plan(step("A", id="s2"), step("B", id="s2")), SHOWN)


def test_computed_fields_are_ignored() -> None:
    """The plan that `show` prints can be sent back as it is."""
    shown = plan(step(status="done", finding="F", reason=None, depends_on=[]), revision=3, has_enough_context=False)
    assert parse_plan(shown, RULES).steps[0].depends_on == ()


def test_no_steps_are_allowed_when_there_is_enough() -> None:
    """A plan that says that enough is known may have no steps, also when it says so as text."""
    assert parse_plan(plan(has_enough_context="True"), RULES).steps == ()
    with pytest.raises(InvalidInput, match="steps"):
        parse_plan(plan(has_enough_context="False"), RULES)


def test_excess_steps_are_cut_only_when_asking_again_is_over() -> None:
    """The last attempt keeps the first steps, without dependencies on what was cut, and says so."""
    steps = [step(f"S{n}", depends_on=[8] if n == 1 else None) for n in range(8)]
    with pytest.raises(InvalidInput, match="8 steps given, at most 5 allowed"):
        parse_plan(plan(*steps), RULES)
    draft = parse_plan(plan(*steps), RULES.model_copy(update={"excess_is_cut": True}))
    assert [s.title for s in draft.steps] == ["S0", "S1", "S2", "S3", "S4"]
    assert draft.steps[1].depends_on == ()
    assert draft.notices == ("8 → 5",)


def test_a_long_thought_is_cut() -> None:
    """A thought is shown, not acted on: its length costs no second planner call."""
    assert len(parse_plan(plan(step(), thought="x" * 50_000), RULES).thought) == 4_000


@pytest.mark.parametrize(
    ("given", "tag"),
    [
        ("zh_cn", "zh-CN"),
        ("EN-us", "en-US"),
        ("de", "de"),
        ("zh-hans-cn", "zh-Hans-CN"),
        ("klingon!", None),
        ("", None),
        ("en-US; DROP", None),
    ],
)
def test_locales_are_spelt_alike_or_dropped(given: str, tag: str | None) -> None:
    """A locale is a BCP 47 tag in its usual spelling, or none."""
    assert sane_locale(given) == tag


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (call("web_search", '{"query": "a'), "not valid JSON"),
        (call("web_search", "[1]"), "must be a JSON object"),
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
def test_a_reply_of_brackets_is_refused_at_once(text: str) -> None:
    """Text that only looks like JSON costs no minute and no stack: it is refused like any other."""
    with pytest.raises(InvalidInput):
        json_object(text)
    assert parse_tool_call(call("web_search", text), TOOLS).error


def test_half_characters_are_replaced() -> None:
    """An escape can bring half a character into JSON; no payload could carry it."""
    assert json_object('{"title": "a \\ud83d b"}') == {"title": "a ? b"}
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
