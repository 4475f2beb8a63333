"""What people send to a run, as Temporal delivers it."""

from typing import Any

import pytest

from deer.errors import InvalidInput
from deer.messages import (
    MAX_ANSWER_CHARS,
    ControlAction,
    Decision,
    parse_answer,
    parse_approval,
    parse_command,
    parse_control,
    parse_edit,
    parse_review,
    parse_step_report,
)


@pytest.mark.parametrize("value", [None, "", {}, {"revision": 2, "reviewer": "ada"}])
def test_an_approval_is_nothing_or_names_the_revision(value: Any) -> None:
    """The signal `approve` needs no input."""
    review = parse_approval(value)
    assert review.decision is Decision.APPROVE
    assert review.revision == (2 if value and "revision" in value else None)


@pytest.mark.parametrize(
    "value", ["yes", [1], {"revision": "first"}, {"revision": 0}, {"surprise": 1}, {"feedback": "x"}]
)
def test_another_approval_is_refused(value: Any) -> None:
    """A word that sounds like consent is none, and unknown or contradictory fields are named."""
    with pytest.raises(InvalidInput):
        parse_approval(value)


def test_an_edit_is_text_feedback_or_a_plan() -> None:
    """A JSON string is feedback."""
    assert parse_edit("costs too").feedback == "costs too"
    assert parse_edit({"feedback": "costs too", "revision": 3}).revision == 3
    assert parse_edit({"plan": {"title": "T"}}).plan == {"title": "T"}


@pytest.mark.parametrize(
    "value", [None, "", "  ", 7, {}, {"feedback": ""}, {"feedback": None}, {"feedback": "x", "plan": {}}, {"plan": "x"}]
)
def test_an_empty_or_double_edit_is_refused(value: Any) -> None:
    """An edit that asks for nothing, or for two things, is no edit."""
    with pytest.raises(InvalidInput):
        parse_edit(value)


def test_an_answer_is_text() -> None:
    """A JSON string or `{text}`, without the space around it."""
    assert parse_answer(" Europe\n").text == "Europe"
    assert parse_answer({"text": "欧洲"}).text == "欧洲"
    assert parse_answer("x" * MAX_ANSWER_CHARS).text


@pytest.mark.parametrize(
    "value", [None, "", " \n ", 7, ["x"], {}, {"text": ""}, {"text": 7}, {"text": "x", "surprise": 1}, "x" * 2_001]
)
def test_an_answer_without_words_or_with_too_many_is_refused(value: Any) -> None:
    """An answer that says nothing, that is no text, or that is longer than allowed."""
    with pytest.raises(InvalidInput):
        parse_answer(value)


def test_a_review_says_what_it_decides() -> None:
    """The update `review` carries a decision; an approval with feedback is neither one nor the other."""
    assert parse_review({"revision": 1, "decision": "approve"}).decision is Decision.APPROVE
    for value in ({"revision": 1}, {"decision": "accept"}, {"decision": "approve", "feedback": "but"}, "approve", None):
        with pytest.raises(InvalidInput):
            parse_review(value)


def test_controls_commands_and_reports_are_closed_sets() -> None:
    """Unknown actions and fields are refused."""
    assert parse_control("retry").action is ControlAction.RETRY
    assert parse_control({"action": "skip", "step_id": "s2"}).step_id == "s2"
    assert parse_step_report({"step_id": "s1", "held": None}).held is None
    for parse, value in (
        (parse_control, {"action": "fly"}),
        (parse_control, None),
        (parse_command, "dance"),
        (parse_step_report, {"held": "x"}),
    ):
        with pytest.raises(InvalidInput):
            parse(value)
