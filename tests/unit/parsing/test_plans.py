"""The one validation of plans: what is taken, and what an error names."""

import pytest

from deer.errors import InvalidInput
from deer.models import StepType
from deer.parsing import parse_plan, sane_locale
from tests.unit.parsing.written import LAST, RULES, SHOWN, plan, step


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (None, "a plan is an object"),
        ([], "a plan is an object"),
        (plan(step(), title=""), "title"),
        (plan(step(), title=7), "title"),
        (plan(step(), title="\u200b\x00"), "title"),
        (plan(step(), title="x" * 301), "title"),
        ({"steps": [step()]}, "title: is missing"),
        ({"title": "T"}, "steps: is missing"),
        ({"title": "T", "steps": "A, B"}, "steps: must be a list"),
        (plan(step(), has_enough_context="perhaps"), "has_enough_context"),
        (plan(step(), locale="en; DROP"), "locale"),
        (plan(step(), locale=7), "locale"),
        (plan(), "steps"),
        (plan({}, {}), "steps.0.title: is missing"),
        (plan({"description": "D"}), "steps.0.title: is missing"),
        (plan(step(step_type=["research"])), "steps.0.step_type"),
        (plan(step("x" * 301)), "steps.0.title"),
        (plan(step("Ｃosts"), step()), "steps.1.title"),
        (plan(step(id="x" * 101)), "steps.0.id"),
        (plan(step(depends_on=[1] * 101)), "steps.0.depends_on"),
        (plan(step(depends_on={"s1": 1})), "steps.0.depends_on"),
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
        (plan(step(depends_on=[1])), "steps.0.depends_on: a step cannot wait for itself"),
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
    """`RESEARCH` is research; a step without type is research unless it says that it does not search."""
    draft = parse_plan(
        plan(
            step("A", step_type="RESEARCH"),
            {"title": "B", "need_search": "true"},
            {"title": "C", "need_search": False, "step_type": None},
            {"title": "D"},
        ),
        RULES,
    )
    types = [StepType.RESEARCH, StepType.RESEARCH, StepType.PROCESSING, StepType.RESEARCH]
    assert [s.step_type for s in draft.steps] == types
    assert [s.need_search for s in draft.steps] == [False, True, False, False]
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
    draft = parse_plan(plan(*steps), LAST)
    assert [s.title for s in draft.steps] == ["S0", "S1", "S2", "S3", "S4"]
    assert draft.steps[1].depends_on == ()
    assert [(change.kind, change.values) for change in draft.changes] == [
        ("steps_cut", {"count": 8, "allowed": 5}),
        ("wait_dropped", {"title": "S1"}),
    ]


def test_a_repeated_step_is_dropped_only_when_asking_again_is_over() -> None:
    """The first of the steps with one title stays for all of them; whoever waits for the others waits for it."""
    steps = [step("A"), step("B"), step("a"), step("Sum", depends_on=[3, 2, "B"]), step("A")]
    with pytest.raises(InvalidInput, match=r"steps\.2\.title: 'a' stands there twice"):
        parse_plan(plan(*steps), RULES)
    draft = parse_plan(plan(*steps), LAST)
    assert [(s.title, s.depends_on) for s in draft.steps] == [("A", None), ("B", None), ("Sum", (1, 2, 2))]
    assert [(change.kind, change.values["title"]) for change in draft.changes] == [
        ("step_repeated", "a"),
        ("step_repeated", "A"),
    ]


def test_a_repetition_takes_no_room_and_leaves_its_id_to_the_first() -> None:
    """Steps are cut by what is left without repetitions, and a shown id of a repetition means the step that stays."""
    last = SHOWN.model_copy(update={"max_steps": 2, "excess_is_cut": True})
    steps = [step("A"), step("A", id="s2"), step("Sum", depends_on=["s2", "s1"])]
    draft = parse_plan(plan(*steps), last)
    assert [s.title for s in draft.steps] == ["A", "Sum"]
    assert draft.steps[1].depends_on == (1, "s1")
    assert [change.kind for change in draft.changes] == ["step_repeated"]


@pytest.mark.parametrize(
    ("written", "kept", "opened"),
    [
        ([[1]], [()], ["S1"]),
        ([[2], [2, 3, 1], []], [(), (3, 1), ()], ["S1", "S2"]),
        ([[2], [3], [2]], [(2,), (), (2,)], ["S2"]),
        ([[3], None, [1, 2]], [(), None, (1, 2)], ["S1"]),
    ],
)
def test_a_circle_is_opened_only_when_asking_again_is_over(
    written: list[list[int] | None], kept: list[tuple[int, ...] | None], opened: list[str]
) -> None:
    """The first step of a circle goes without those that wait for it; who stands outside waits as it was written."""
    steps = [step(f"S{at}", depends_on=wanted) for at, wanted in enumerate(written, start=1)]
    with pytest.raises(InvalidInput, match="depends_on"):
        parse_plan(plan(*steps), RULES)
    draft = parse_plan(plan(*steps), LAST)
    assert [one.depends_on for one in draft.steps] == kept
    assert [(one.kind, one.values["title"]) for one in draft.changes] == [("circle_opened", title) for title in opened]


def test_errors_stay_short() -> None:
    """A wrong value is shown by its beginning only, since the error is told to people and models."""
    for fields in ({"step_type": "x" * 50_000}, {"depends_on": ["x" * 50_000]}, {"need_search": ["x"] * 50_000}):
        with pytest.raises(InvalidInput) as caught:
            parse_plan(plan(step(**fields)), RULES)
        assert len(str(caught.value)) < 250


@pytest.mark.parametrize("locale", ["en-US", "zh_CN", "English", "Chinese (Simplified)", "中文", "", None])
def test_a_plan_may_name_its_language_as_it_likes(locale: str | None) -> None:
    """The run has its locale already: only what can be no language at all is refused."""
    assert parse_plan(plan(step(), locale=locale), RULES).title == "T"


def test_texts_lose_their_control_characters() -> None:
    """What no screen shows is not part of a plan."""
    draft = parse_plan(plan(step("Co\x00sts\x1b"), title="a\n b\x07", thought=["no text"]), RULES)
    assert (draft.title, draft.steps[0].title, draft.thought) == ("a b", "Costs", "")


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
