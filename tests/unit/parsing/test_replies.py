"""What was asked for, found in a model's words."""

import json
from typing import Any

import pytest

from deer.errors import InvalidInput
from deer.parsing import json_object, parse_plan, plan_in
from tests.unit.parsing.written import RULES, plan, step

STEPS = [step("Costs"), step("Noise", depends_on=[1])]
PLAN = plan(*STEPS)
WRITTEN = json.dumps(PLAN)
ENCODED = json.dumps(WRITTEN)
DRAFT = '{"title": "Draft", "steps": [{"title": "Look around"}]}'


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
    "text",
    [
        WRITTEN,
        f"\ufeff {WRITTEN}\n",
        f"```json\n{WRITTEN}\n```",
        f"```Plan v2 (final)\n{WRITTEN}\n```\nThat is all.",
        f"~~~\n{WRITTEN}\n~~~",
        f"```python\ndef f(x): return {{x}}\n```\n{WRITTEN}",
        f"Braces {{like these}}, {{ these and [1] or {{'a': 1}} are not it.\n{WRITTEN} [2] {{done}}",
        f'First {{"research_topic": "{"x" * 2_000}"}}, then {WRITTEN}',
        f'{WRITTEN}\n{{"note": "{"x" * 2_000}"}}',
        f"{DRAFT}\nThat is too little. Better:\n{WRITTEN}",
        f'{{"steps": []}} {WRITTEN}',
        f"<think>Maybe {DRAFT} would do?</think>\n{WRITTEN}",
        f"<thinking>a</thinking>Well.<THINK>{DRAFT}</THINK>{WRITTEN}<think>Done</think>",
        f"<think>a <think>b</think> {DRAFT} </think>{WRITTEN}",
        f"Maybe {DRAFT} would do?\n</think>\n{WRITTEN}",
        f'<think>Maybe {{"steps": []}} would do?\n{WRITTEN}',
        f"<think>Let me write it.\n```json\n{WRITTEN}\n```\n",
        ENCODED,
        json.dumps(ENCODED),
        f"Here: {ENCODED}",
        ENCODED[1:-1],
        "{" + WRITTEN + "}",
        json.dumps({"plan": PLAN}),
        json.dumps({"result": {"plan": WRITTEN}}),
        json.dumps({"name": "write_plan", "arguments": PLAN}),
        json.dumps({"name": "write_plan", "arguments": WRITTEN}),
        f'{{"note": "as asked"}} {ENCODED}',
        json.dumps({"title": "T", "plan": {"thought": "t", "steps": STEPS}}),
        json.dumps(PLAN | {"steps": json.dumps(STEPS)}),
    ],
)
def test_the_plan_of_a_reply_is_found(text: str) -> None:
    """Thoughts, fences, prose, wrappings, other objects and a second encoding do not hide the plan of a reply."""
    assert parse_plan(plan_in(text, "Q"), RULES) == parse_plan(PLAN, RULES)


@pytest.mark.parametrize(
    "text",
    [
        repr(PLAN),
        str(PLAN).replace("'", '"'),
        WRITTEN.replace("}", ",}").replace("]", ", ]"),
        WRITTEN.replace('"', "'"),
        WRITTEN.replace('"title":', "title:"),
        WRITTEN.replace("}, {", "} {"),
        WRITTEN.replace(', "', '\n"'),
        WRITTEN.replace(", ", ", // as asked\n"),
        "".join("“”"[n % 2] + part if n else part for n, part in enumerate(WRITTEN.split('"'))),
        WRITTEN.translate(str.maketrans("{}[]:,", "｛｝［］：，")),
    ],
)
def test_almost_json_is_read(text: str) -> None:
    """Single and curly quotes, Python's spelling, commas too many or too few, comments, full-width signs are read."""
    assert parse_plan(plan_in(text, "Q"), RULES) == parse_plan(PLAN, RULES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"{'a': 'It\'s \u6cf5 \n', 'b': None, 'c': False, 'd': -1.5e2}", {"a": "It's 泵 \n", "b": None, "c": False}),
        ("{'a': 'It's T', 'b': 1}", {"a": "It's T", "b": 1}),
        ('{"a": "the "best" pump", b: TRUE}', {"a": 'the "best" pump', "b": True}),
        ('{"a": "first\nsecond", "b": "\\d+",}', {"a": "first\nsecond", "b": "\\d+"}),
        ("{'a': '\\ud83d\\ude00',}", {"a": "😀"}),
        ("{“a”：“关于‘热泵’，市场”，“b”：true}", {"a": "关于‘热泵’，市场", "b": True}),
    ],
)
def test_what_almost_json_says(text: str, value: dict[str, Any]) -> None:
    """Apostrophes, quotes and line breaks within strings survive, and words of other languages are their values."""
    assert value.items() <= json_object(text).items()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("\ufeff", "empty"),
        ("1. Find the market size", "no JSON object"),
        ("null", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ("{title of the plan}", "no JSON object"),
        ("{'a': T}", "no JSON object"),
        (f"<think>{WRITTEN}</think>", "no JSON object"),
        (f"<think>{DRAFT} or {WRITTEN}", "no JSON object"),
        (f"<think>{WRITTEN} would do. Or would it?", "no JSON object"),
        (f"<think>Maybe {WRITTEN}", "no JSON object"),
        ('{"title": "T", note: of course, "rejected": [{"title": "A"}]}', "no JSON object"),
        ('{"title": "T", "steps": [{"title": "cut o', "breaks off"),
        (f"{WRITTEN} No, better: {WRITTEN[:60]}", "breaks off"),
        ('{"title": ' + "[" * 70 + "]" * 70 + "}", "levels deep"),
        ("[" * 5 + "1, " * 30_000, "too many parts"),
    ],
)
def test_a_reply_without_a_whole_object_is_refused(text: str, said: str) -> None:
    """Prose, thoughts alone, nothing at all and an object that breaks off give an error, never a guess."""
    with pytest.raises(InvalidInput, match=said):
        plan_in(text, "Q")


@pytest.mark.parametrize(
    "whole",
    [
        WRITTEN,
        repr(PLAN),
        f"```json\n{WRITTEN}",
        f"<think>short?</think>{WRITTEN}",
        f'<think>Maybe {{"steps": []}}?\n{WRITTEN}',
        f"<think>Maybe {DRAFT}? {WRITTEN}",
        json.dumps({"plan": PLAN, "note": ""}),
        json.dumps(STEPS),
        ENCODED,
        WRITTEN.translate(str.maketrans("{}[]:,", "｛｝［］：，")),
    ],
)
def test_a_reply_cut_anywhere_gives_no_plan(whole: str) -> None:
    """Wherever a reply is cut before its last bracket, it is refused: no bracket is ever closed for the model."""
    last = max(whole.rfind(bracket) for bracket in "}]｝")
    for end in range(last):
        with pytest.raises(InvalidInput):
            parse_plan(plan_in(whole[:end], "Q"), RULES)


def test_half_characters_are_replaced() -> None:
    """An escape can bring half a character into JSON; no payload could carry it."""
    assert json_object('{"title": "a \\ud83d b"}') == {"title": "a ? b"}
    assert json_object("{'title': 'a \\ud83d b'}") == {"title": "a ? b"}
