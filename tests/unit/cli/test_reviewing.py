"""The review of a plan as a conversation."""

import pytest

from deer.cli.plan_files import plan_as_yaml
from deer.cli.reviewing import approval, edit_by_words, review_at_terminal
from deer.errors import Refused
from deer.messages import Decision, parse_review
from deer.models import Phase
from tests.unit.cli.scripted_run import ScriptedPerson, ScriptedRun, plan, standing, status

PLAN = plan(revision=2)


def test_reviews_are_what_the_run_understands() -> None:
    """What is sent passes the run's own parser, with the revision and who reviewed."""
    review = parse_review(approval(2))
    assert (review.decision, review.revision) == (Decision.APPROVE, 2)
    assert parse_review(approval(None)).revision is None
    assert parse_review(edit_by_words("shorter", 1)).feedback == "shorter"


async def test_the_plan_is_shown_and_accepted() -> None:
    """The person sees the steps with their types and dependencies, and `a` approves this revision."""
    run, person = ScriptedRun(), ScriptedPerson("a")
    assert await review_at_terminal(run, PLAN, person)
    assert "Plan 2" in person.seen
    assert "Angle s1" in person.seen
    assert "analysis" in person.seen
    assert [(name, message["decision"], message["revision"]) for name, message in run.sent] == [
        ("review", "approve", 2)
    ]


async def test_leaving_sends_nothing() -> None:
    """`l`, and a closed input, leave the plan waiting."""
    for line in ("l", "L", None):
        run = ScriptedRun()
        assert not await review_at_terminal(run, PLAN, ScriptedPerson(line))
        assert run.sent == []


async def test_what_is_no_choice_is_asked_again() -> None:
    """An unknown key, and words left empty, bring the question back."""
    run = ScriptedRun()
    assert not await review_at_terminal(run, PLAN, ScriptedPerson("?", "", "w", "", "l"))
    assert run.sent == []


async def test_a_plan_is_changed_in_words() -> None:
    """`w` asks for words and sends them as feedback."""
    run = ScriptedRun()
    assert await review_at_terminal(run, PLAN, ScriptedPerson("w", "only costs"))
    assert run.sent[0][1]["feedback"] == "only costs"


async def test_a_refusal_is_shown_and_the_person_asked_again() -> None:
    """A review that the run refuses is told with its reason."""
    run = ScriptedRun(standing(Phase.AWAITING_REVIEW), status(plan=PLAN), refusals=[Refused("all edits are used")])
    person = ScriptedPerson("a", "l")
    assert not await review_at_terminal(run, PLAN, person)
    assert "all edits are used" in person.seen


@pytest.mark.parametrize("phase", [Phase.RESEARCHING, Phase.COMPLETED, Phase.AWAITING_REVIEW])
async def test_a_plan_that_somebody_else_answered_is_asked_about_no_more(phase: Phase) -> None:
    """After a refusal the run is followed on where it has gone on, or waits with another plan."""
    run = ScriptedRun(standing(phase), status(phase, plan=plan(revision=3)), refusals=[Refused("answered already")])
    assert await review_at_terminal(run, PLAN, ScriptedPerson("a"))


async def test_a_plan_is_edited_in_the_editor() -> None:
    """What the person saves is sent as the new plan."""
    run = ScriptedRun()
    person = ScriptedPerson("e", saves=[plan_as_yaml(PLAN).replace("Angle s1", "Costs")])
    assert await review_at_terminal(run, PLAN, person)
    assert run.sent[0][1]["plan"]["steps"][0]["title"] == "Costs"


async def test_an_unchanged_or_emptied_plan_sends_nothing() -> None:
    """Leaving the editor without a change, or with nothing but comments, brings the question back."""
    run = ScriptedRun()
    person = ScriptedPerson("e", "e", "l", saves=[plan_as_yaml(PLAN), "# all gone\n\n"])
    assert not await review_at_terminal(run, PLAN, person)
    assert run.sent == []


async def test_the_editor_opens_again_with_the_person_s_text() -> None:
    """A plan with a mistake comes back as the person wrote it, with the complaint at its top, until it is right."""
    wrong = plan_as_yaml(PLAN).replace("step_type: research", "step_type: magic")
    right = wrong.replace("magic", "analysis")
    run = ScriptedRun(refusals=[Refused("steps.0.step_type: 'magic' is not one of research, analysis, processing")])
    person = ScriptedPerson("e", "", saves=[wrong, right])
    assert await review_at_terminal(run, PLAN, person)
    complaint, _, reopened = person.was_given[1].partition("\n")
    assert "steps.0.step_type" in complaint
    assert reopened == wrong
    assert run.sent[0][1]["plan"]["steps"][0]["step_type"] == "analysis"


async def test_text_that_is_no_yaml_is_not_sent() -> None:
    """A text that cannot be read is not sent, and may be given up: the old plan stays."""
    run = ScriptedRun()
    person = ScriptedPerson("e", "x", "l", saves=["title: [oops"])
    assert not await review_at_terminal(run, PLAN, person)
    assert run.sent == []
    assert "neither YAML nor JSON" in person.seen
