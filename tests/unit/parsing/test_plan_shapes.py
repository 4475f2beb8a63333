"""Plans under other names and in other shapes than the one that was asked for."""

import json
from typing import Any

import pytest

from deer.errors import InvalidInput
from deer.models import StepType
from deer.parsing import parse_plan, plan_in
from tests.unit.parsing.written import LAST, RULES, SHOWN, plan, step


def read(data: Any) -> dict[str, Any]:
    """What a reply that holds this says, as far as anything was said."""
    return parse_plan(plan_in(json.dumps(data), "Q"), RULES).model_dump(mode="json")


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "A", "details": "D", "type": "research", "need_web_search": True},
        {"Title": "A", "Description": "D", "stepType": "RESEARCH", "needSearch": "true"},
        {"task": "A", "instructions": "D", "agent": "researcher", "needs_search": "Yes"},
        {"step": "A", "detail": "D", "category": "search", "requires_search": True, "search": "a query"},
        {"step": 1, "title": "A", "description": "D", "kind": "Web-Search", "web_search": True},
        {"title": "A", "name": "B", "description": "D", "step_type": None, "type": "research", "need_search": True},
        {"title": "A", "description": "D", "need_search": 1},
    ],
)
def test_steps_have_their_fields_under_other_names(fields: dict[str, Any]) -> None:
    """Other names, spellings and words for the fields of a step and their values mean the same."""
    (only,) = read(plan(fields))["steps"]
    assert only == {
        "id": None,
        "title": "A",
        "description": "D",
        "step_type": "research",
        "need_search": True,
        "depends_on": None,
    }


@pytest.mark.parametrize(
    "data",
    [
        {"title": "T", "tasks": [step("A"), step("B")]},
        {"plan_title": "T", "plan": [step("A"), step("B")]},
        {"name": "T", "Steps": {"1": step("A"), "2": step("B")}},
        {"title": "T", "steps": {"step_1": step("A"), "step_2": step("B")}},
        {"title": None, "reportTitle": "T", "steps": [step("A"), step("B")]},
        {"research_plan": {"title": "T", "tasks": [step("A"), step("B")]}},
        {"response": {"title": "T", "plan": {"steps": [step("A"), step("B")]}}, "locale": "en-US"},
    ],
)
def test_plans_have_their_fields_under_other_names(data: Any) -> None:
    """Steps in an object or under another name, and a plan within another object, are read as they are meant."""
    written = read(data)
    assert written["title"] == "T"
    assert [(one["title"], one["id"], one["depends_on"]) for one in written["steps"]] == [
        ("A", None, None),
        ("B", None, None),
    ]


def test_steps_alone_get_the_title_of_what_was_asked() -> None:
    """A list of steps, and a plan without any title, are taken under the question; an empty title is refused."""
    assert read([step("A"), step("B")])["title"] == "Q"
    assert read({"steps": [step("A")]})["title"] == "Q"
    assert read({"steps": step("A")})["steps"][0]["title"] == "A"
    with pytest.raises(InvalidInput, match="title: must not be empty"):
        read({"title": " ", "steps": [step("A")]})


@pytest.mark.parametrize(
    ("words", "step_type"),
    [
        ("analyst", StepType.ANALYSIS),
        ("Synthesis", StepType.ANALYSIS),
        ("coder", StepType.PROCESSING),
        (" PROCESSING ", StepType.PROCESSING),
        ("web search", StepType.RESEARCH),
    ],
)
def test_a_type_may_be_called_by_who_does_it(words: str, step_type: StepType) -> None:
    """A step's type in any case, the role that does it and what it does are understood."""
    assert parse_plan(plan(step("A", step_type=words)), RULES).steps[0].step_type is step_type


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ([1], (1,)),
        (["1"], (1,)),
        (1, (1,)),
        (1.0, None),
        ([1.0, None], (1,)),
        ("1, 2", (1, 2)),
        ("[1; 2]", (1, 2)),
        ("Step 1", (1,)),
        (["step_2", "步骤1"], (2, 1)),
        (["first"], (1,)),
        (["Costs"], (1,)),
        (["  NOISE"], (2,)),
        ("none", ()),
        ("", ()),
        ([], ()),
    ],
)
def test_dependencies_are_named_in_many_ways(written: Any, meant: tuple[int, ...] | None) -> None:
    """Positions, also as text, labels and titles name the steps that a step of a first plan depends on."""
    data = plan(step("Costs", id="first"), step("Noise"), step("Sum", depends_on=written))
    if meant is None:
        with pytest.raises(InvalidInput, match="must be a list of steps"):
            parse_plan(data, RULES)
    else:
        assert parse_plan(data, RULES).steps[2].depends_on == meant


def test_numbers_that_steps_give_themselves_are_what_they_depend_on() -> None:
    """Where the steps of a first plan are numbered from zero, or lie under names, dependencies go by that."""
    numbered = plan(step("A", id=0), step("B", id=1, depends_on=[0]), step("C", number=2, depends_on=["1"]))
    assert [one.depends_on for one in parse_plan(numbered, RULES).steps] == [None, (1,), (2,)]
    named = {"title": "T", "steps": {"a": step("A"), "b": step("B", dependencies=["a"])}}
    assert [one.depends_on for one in parse_plan(named, RULES).steps] == [None, (1,)]


@pytest.mark.parametrize("field", ["step", "number", "index", "step_number", "step_id", "position", "id"])
def test_a_number_that_is_nobodys_id_says_where_a_step_stands(field: str) -> None:
    """In a revised plan too steps may be numbered: the number is no id, whatever it is called; an id still is."""
    revised = plan(step("A", **{field: "s2"}), step("B", **{field: 2}), step("C", **{field: "step 3"}, depends_on=[2]))
    assert [(one.id, one.depends_on) for one in parse_plan(revised, SHOWN).steps] == [
        ("s2", None),
        (None, None),
        (None, (2,)),
    ]


def test_a_title_under_the_name_step_is_no_id() -> None:
    """`step` with words is a step's title, also where a plan was shown."""
    [new] = parse_plan({"title": "T", "steps": [{"step": "Look at the costs"}]}, SHOWN).steps
    assert (new.id, new.title) == (None, "Look at the costs")


def test_integers_are_positions_where_a_plan_was_shown() -> None:
    """Beside ids that exist an integer is always a position, and an id that does not exist is refused."""
    draft = parse_plan(plan(step("B", id="s2"), step("C", depends_on=[1, "s1"])), SHOWN)
    assert draft.steps[1].depends_on == (1, "s1")
    with pytest.raises(InvalidInput, match=r"steps\.0\.depends_on: no step 's9'"):
        parse_plan(plan(step("B", depends_on=["s9"])), SHOWN)


def test_dependencies_on_what_was_cut_off_are_left_out() -> None:
    """The last attempt keeps the first steps without what they wanted of others, however that was named."""
    steps = [step(f"S{n}", id=f"label-{n}") for n in range(8)]
    steps[1]["depends_on"] = ["label-0", "label-7", "S6", 8, "step 7"]
    assert parse_plan(plan(*steps), LAST).steps[1].depends_on == (1,)
    shown = SHOWN.model_copy(update={"max_steps": 2, "excess_is_cut": True})
    later = plan(step("A", depends_on=["s1", "s2", "s3"]), step("B", id="s2"), step("C", id="s3"))
    assert parse_plan(later, shown).steps[0].depends_on == ("s1", "s2")
