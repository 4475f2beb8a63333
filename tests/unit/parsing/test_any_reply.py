"""Replies that nobody thought of: mutated ones by the thousand, and hostile ones of 200 KB."""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from deer.errors import InvalidInput
from deer.models import MAX_TITLE_CHARS, PlanDraft, PlanRules, StepType
from deer.parsing import parse_plan, plan_in
from tests.unit.parsing.written import plan, step

RULES = PlanRules(max_steps=8)
WORDS = (
    "heat pumps",
    "It's T",
    'the "best" pump',
    "a {brace} and [1]",
    "C:\\temp\\new",
    "关于“热泵”，市场：",
    "first\nsecond",
    "😀 é",
    "], }, {",
    "50 % // of #1",
    "null",
    "```",
)
GARBAGE = (
    *"{}[]\",:\\'`“”｛，",
    "<think>",
    "</think>",
    "```json\n",
    "null",
    '{"steps": []}',
    '[{"title": "x"}]',
    '{"a": {"b": [[[',
    "\x00",
    "\ud83d",
    "}}}}",
    ", ...",
    '"steps":',
)


@dataclass(frozen=True)
class Reply:
    """A planner's reply that is whole, and the titles of the steps in it."""

    text: str
    titles: tuple[str, ...]


def _steps(random: Random) -> list[dict[str, Any]]:
    steps = []
    for n in range(random.randint(1, 6)):
        fields: dict[str, Any] = {"description": random.choice(WORDS) * random.randint(1, 3)}
        if random.random() < 0.3 and n:
            fields["depends_on"] = sorted(random.sample(range(1, n + 1), random.randint(0, n)))
        steps.append(step(f"{random.choice(WORDS)} {n}", **fields, need_search=random.random() < 0.5))
    return steps


def _curly(text: str) -> str:
    """JSON with the signs of a Chinese keyboard between its strings."""
    signs = str.maketrans("{}[]:,", "｛｝［］：，")
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return "".join(part if n % 2 else part.translate(signs) for n, part in enumerate(parts))


SPELLINGS: tuple[Callable[[Any], str], ...] = (
    json.dumps,
    lambda value: json.dumps(value, ensure_ascii=False, indent=2),
    repr,
    lambda value: json.dumps(json.dumps(value)),
    lambda value: _curly(json.dumps(value, ensure_ascii=False)),
    lambda value: (
        json.dumps(value, indent=1).replace("\n", ",\n").replace("{,", "{").replace("[,", "[").replace(",,", ",")
    ),
)
WRAPPINGS: tuple[Callable[[Any], Any], ...] = (
    lambda written: written,
    lambda written: {"plan": written},
    lambda written: {"name": "write_plan", "arguments": written},
    lambda written: written["steps"],
    lambda written: {**written, "steps": {f"step_{n}": one for n, one in enumerate(written["steps"], 1)}},
)
SURROUNDINGS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: f"```json\n{text}\n```",
    lambda text: f"\ufeffHere is {{it}} [1]:\n```\n{text}\n```\nI hope it helps {{truly}}.",
    lambda text: f'<think>Maybe {{"title": "D", "steps": [{{"title": "d"}}]}} would do?</think>\n{text}',
    lambda text: f"It's a draft: {{'a': [1]}}.\n</think>\n\n{text}",
    lambda text: f'<think>Maybe {{"steps": []}} would do?\n{text}',
    lambda text: f'{{"research_topic": "{"x" * 300}"}}\n{text}',
)


def reply_of(random: Random) -> Reply:
    """A reply of a real shape."""
    written = plan(*_steps(random), title=random.choice(WORDS), locale="en-US", has_enough_context=False)
    text = random.choice(SPELLINGS)(random.choice(WRAPPINGS)(written))
    titles = tuple(" ".join(one["title"].split()) for one in written["steps"])
    return Reply(random.choice(SURROUNDINGS)(text), titles)


def read(text: str) -> PlanDraft | None:
    """The plan in a reply, None when it is refused; anything but a refusal is raised."""
    try:
        return parse_plan(plan_in(text, "Q"), RULES)
    except InvalidInput:
        return None


def assert_keeps_the_rules(draft: PlanDraft) -> None:
    """Whatever was read is a plan that can be shown, stored and carried out."""
    draft.model_dump_json()
    assert draft.title.strip()
    assert len(draft.title) <= MAX_TITLE_CHARS
    assert draft.steps or draft.has_enough_context
    assert len(draft.steps) <= RULES.max_steps
    assert len({one.title.casefold() for one in draft.steps}) == len(draft.steps)
    done: set[int] = set()
    needs = {}
    for at, one in enumerate(draft.steps, start=1):
        assert one.title.strip()
        assert len(one.title) <= MAX_TITLE_CHARS
        assert len(one.description) <= 4_000
        before = range(1, at) if one.step_type is not StepType.RESEARCH else ()
        needs[at] = set(before if one.depends_on is None else one.depends_on)
        assert needs[at] <= set(range(1, len(draft.steps) + 1))
    while len(done) < len(needs):
        ready = {at for at in needs if at not in done and needs[at] <= done}
        assert ready, "the steps wait for each other"
        done |= ready


def mutated(text: str, random: Random) -> str:
    """A text with one to four faults: garbage put in, pieces lost, doubled or moved, characters replaced."""
    for _ in range(random.randint(1, 4)):
        start, end = sorted(random.randrange(len(text) + 1) for _ in range(2))
        end = min(end, start + random.choice((1, 5, 50, 1_000)))
        piece = text[start:end]
        text = random.choice(
            (
                text[:start] + random.choice(GARBAGE) * random.choice((1, 1, 3)) + text[start:],
                text[:start] + text[end:],
                text[:start] + piece + text[start:],
                text[:start] + text[end:] + piece,
                text[:start] + random.choice(GARBAGE) + text[start + 1 :],
                text[:end],
                text.replace(*random.choice((('"', "'"), ("'", '"'), (",", ""), (":", "："), ("}", "}}")))),
            )
        )
    return text


@contextmanager
def told_with(seed: int) -> Iterator[Random]:
    """A source of chance, whose seed is told with what fails."""
    try:
        yield Random(seed)
    except Exception as error:  # whatever it is, it is raised again with the seed
        error.add_note(f"the seed was {seed}")
        raise


def test_a_mutated_reply_gives_a_plan_that_keeps_the_rules_or_a_refusal() -> None:
    """Whatever is done to a reply, there is no other error than a refusal and no plan that breaks a rule."""
    for seed in range(2_000):
        with told_with(seed) as random:
            draft = read(mutated(reply_of(random).text, random))
            if draft is not None:
                assert_keeps_the_rules(draft)


def test_a_cut_reply_never_gives_a_shorter_plan() -> None:
    """A whole reply of any shape gives its plan; cut anywhere it gives the same plan or none."""
    for seed in range(1_000):
        with told_with(seed) as random:
            reply = reply_of(random)
            whole = read(reply.text)
            assert whole is not None
            assert tuple(one.title for one in whole.steps) == reply.titles
            cut = read(reply.text[: random.randrange(len(reply.text))])
            assert cut is None or tuple(one.title for one in cut.steps) == reply.titles


def long_plan(chars: int) -> dict[str, Any]:
    """A plan whose JSON has about this length."""
    return plan(*(step(f"S{n}", description="D" * 300) for n in range(chars // 390)))


HOSTILE: dict[str, Callable[[int], str]] = {
    "JSON": lambda n: json.dumps(long_plan(n)),
    "Python": lambda n: repr(long_plan(n)),
    "encoded twice": lambda n: json.dumps(json.dumps(long_plan(n)))[1:-1],
    "cut": lambda n: f"```json\n{repr(long_plan(n))[:-3]}",
    "braces": lambda n: "{" * n,
    "brackets": lambda n: "[" * n,
    "nested": lambda n: '{"a":' * (n // 5),
    "many objects": lambda n: "{'a': 1} " * (n // 9),
    "broken objects": lambda n: '{"a":1,' * (n // 7),
    "broken names": lambda n: '{"\n' * (n // 3),
    "comments": lambda n: "{//\n" * (n // 4),
    "numbers": lambda n: "[" + "1," * (n // 2),
    "quotes": lambda n: '{"a":' + '"a' * (n // 2),
    "backslashes": lambda n: "{'a': '" + "\\" * n,
    "opened thoughts": lambda n: "<think>" * (n // 7),
    "closed thoughts": lambda n: "<think></think>" * (n // 15),
    "stray braces": lambda n: "{see it} " * (n // 9),
    "wrappings": lambda n: json.dumps({f"k{at}": {"z": {"q": {"w": "{1}"}}} for at in range(n // 40)}),
    "blanks": lambda n: "{" + " " * n + "<" + " " * n,
}


@pytest.mark.parametrize("text_of", HOSTILE.values(), ids=HOSTILE)
def test_the_work_grows_with_the_length_only(text_of: Callable[[int], str]) -> None:
    """A hostile reply of 200 KB costs the processor a fraction of a second, and not much more than four of 50 KB."""

    def cost_s(chars: int) -> float:
        text = text_of(chars)
        costs = []
        for _ in range(3):
            begun = time.process_time()
            read(text)
            costs.append(time.process_time() - begun)
        return min(costs)

    cost_of_200_kb = cost_s(200_000)
    assert cost_of_200_kb < 0.5
    assert cost_of_200_kb < 8 * cost_s(50_000) + 0.05
