"""What a run asks, as a conversation."""

import pytest

from deer.cli.answering import answer_at_terminal, answer_of
from deer.errors import InvalidInput, Refused
from deer.messages import parse_answer
from tests.unit.cli.scripted_run import ScriptedPerson, ScriptedRun

QUESTION = "Which market is meant?\n- Europe\n- the \x1b[2Jworld"


def test_an_answer_is_what_the_run_understands() -> None:
    """What is sent passes the run's own parser; words that are none are refused before anything is sent."""
    assert parse_answer(answer_of("  Europe\n")).text == "Europe"
    with pytest.raises(InvalidInput, match="the answer is empty"):
        answer_of(" \n")


async def test_the_question_is_shown_and_answered() -> None:
    """The person sees the question and what it offers, without what would steer the terminal, and types the answer."""
    run, person = ScriptedRun(), ScriptedPerson("Europe, for small firms")
    assert await answer_at_terminal(run, QUESTION, person)
    assert run.sent == [("answer", {"text": "Europe, for small firms"})]
    for line in ("Which market is meant?", "- Europe", "- the [2Jworld"):
        assert line in person.seen


@pytest.mark.parametrize("line", ["", None])
async def test_an_empty_line_leaves_the_run_waiting(line: str | None) -> None:
    """Enter alone, and a closed input, send nothing."""
    run = ScriptedRun()
    assert not await answer_at_terminal(run, QUESTION, ScriptedPerson(line))
    assert run.sent == []


async def test_a_refused_answer_is_told_and_the_person_asked_again() -> None:
    """What the run does not take is shown with its reason."""
    run, person = ScriptedRun(refusals=[Refused("text: at most 2000 characters")]), ScriptedPerson("long", "short")
    assert await answer_at_terminal(run, QUESTION, person)
    assert "at most 2000 characters" in person.seen
    assert run.sent == [("answer", {"text": "short"})]
