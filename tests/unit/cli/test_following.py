"""Following a run: what is shown, when it stops, and what it says when nobody answers."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from deer.cli.exits import Unfinished
from deer.cli.following import Follower, Patience
from deer.errors import NoServer, NotFound, Refused
from deer.models import Phase
from tests.unit.cli.scripted_run import ScriptedRun, Shown, entry, page, standing, status

AT_ONCE = Patience(between_questions=0, between_step_questions=0, without_answer=0)
PATIENT = Patience(between_questions=0, without_answer=60)
SILENCE = NoServer("run r1: no worker answered in time")


async def test_entries_of_run_and_steps_are_shown_once_and_in_order() -> None:
    """Run and steps are each asked after their last cursor and merged by time; an ended step is asked once more."""
    run = ScriptedRun(
        pages=[
            page(Phase.RESEARCHING, entry("plan approved", second=1), cursor="7", running=("r1/s1/1",)),
            page(Phase.RESEARCHING, entry("s1 done", second=6), cursor="8", running=()),
            page(Phase.COMPLETED, entry("report written", second=9), cursor="9"),
        ],
        step_pages={
            "r1/s1/1": [
                page(Phase.RESEARCHING, entry("turn 1", "s1", 3), entry("search: cold", "s1", 4), cursor="2"),
                page(Phase.RESEARCHING, entry("submits its finding", "s1", 5), cursor="3"),
            ]
        },
    )
    shown = Shown()
    assert await Follower(run, "hint", AT_ONCE).until_stop(shown) is Phase.COMPLETED
    assert shown.lines == [
        *("- plan approved", "s1 turn 1", "s1 search: cold", "s1 submits its finding", "- s1 done", "- report written")
    ]
    assert run.asked_since == [
        *(("", None), ("", "r1/s1/1"), ("7", None), ("2", "r1/s1/1"), ("8", None)),
    ]


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase.is_end or phase.waits_for_a_person])
async def test_it_stops_where_only_a_person_or_nobody_goes_on(phase: Phase) -> None:
    """Every end and every phase that waits for a person ends the following."""
    run = ScriptedRun(pages=[page(phase)])
    assert await Follower(run, "hint", AT_ONCE).until_stop(Shown()) is phase


async def test_a_run_that_was_ended_from_outside_is_over() -> None:
    """A terminated run answers queries as it stood; while nothing new comes, Temporal is asked whether it is open."""
    run = ScriptedRun(now=standing(), pages=[page(Phase.RESEARCHING)])
    follower = Follower(run, "hint", Patience(between_questions=0.01, between_looks=0))
    following = asyncio.ensure_future(follower.until_stop(Shown()))
    await asyncio.sleep(0.05)
    assert not following.done()
    run.now = standing(Phase.FAILED, is_open=False, ended_by="the run was terminated in Temporal")
    assert await asyncio.wait_for(following, 5) is Phase.FAILED


async def test_a_held_step_does_not_stop_the_watching_of_others() -> None:
    """While one step needs attention and another works, the work goes on being watched; then the run has stopped."""
    both = ("r1/s1/1", "r1/s2/1")
    run = ScriptedRun(
        pages=[
            page(Phase.NEEDS_ATTENTION, running=both),
            page(Phase.NEEDS_ATTENTION, running=both),
            page(Phase.NEEDS_ATTENTION, running=both[:1]),
        ],
        step_pages={
            "r1/s1/1": [page(Phase.NEEDS_ATTENTION)],
            "r1/s2/1": [page(Phase.RESEARCHING, entry("turn 2", "s2", 3), cursor="1")],
        },
    )
    shown = Shown()
    assert await Follower(run, "hint", AT_ONCE).until_stop(shown) is Phase.NEEDS_ATTENTION
    assert "s2 turn 2" in shown.lines
    assert len([step for _, step in run.asked_since if step is None]) == 3


async def test_a_closed_run_is_not_asked() -> None:
    """A run that Temporal has closed needs no worker."""
    run = ScriptedRun(now=standing(Phase.FAILED, is_open=False))
    assert await Follower(run, "hint", AT_ONCE).until_stop(Shown()) is Phase.FAILED
    assert run.asked_since == []


async def test_after_a_stop_it_goes_on_where_it_was() -> None:
    """A follower that is asked again after a review shows nothing twice."""
    run = ScriptedRun(pages=[page(Phase.AWAITING_REVIEW, entry("a plan waits"), cursor="4"), page(Phase.COMPLETED)])
    follower = Follower(run, "hint", AT_ONCE)
    await follower.until_stop(Shown())
    await follower.until_stop(Shown())
    assert [since for since, _ in run.asked_since] == ["", "4"]


async def test_pictures_are_drawn_when_wanted() -> None:
    """With a picture to show, the whole run is read after each answer; where it cannot be read, following goes on."""
    shown = Shown()
    run = ScriptedRun(pages=[page(Phase.RESEARCHING), page(Phase.COMPLETED)], account=status(Phase.RESEARCHING))
    await Follower(run, "hint", AT_ONCE).until_stop(shown, shown.show_picture)
    assert len(shown.pictures) == 2
    silent = ScriptedRun(pages=[page(Phase.COMPLETED)], account=SILENCE)
    assert await Follower(silent, "hint", AT_ONCE).until_stop(shown, shown.show_picture) is Phase.COMPLETED


async def test_a_step_that_cannot_answer_does_not_stop_the_following() -> None:
    """A step that has just ended or begun may be silent; the run itself goes on telling."""
    run = ScriptedRun(
        pages=[page(Phase.RESEARCHING, running=("r1/s1/1",)), page(Phase.COMPLETED, entry("end"))],
        step_pages={"r1/s1/1": [NotFound("no such step")]},
    )
    shown = Shown()
    assert await Follower(run, "hint", AT_ONCE).until_stop(shown) is Phase.COMPLETED
    assert shown.lines == ["- end"]


async def test_a_silent_step_has_the_run_asked_at_once() -> None:
    """Where a step does not answer any more the run is asked without a pause, and what it had said is shown."""
    run = ScriptedRun(
        pages=[page(Phase.RESEARCHING, entry("begins"), running=("r1/s1/1",)), page(Phase.COMPLETED, entry("end"))],
        step_pages={"r1/s1/1": [SILENCE]},
    )
    shown = Shown()
    async with asyncio.timeout(10):
        assert await Follower(run, "hint", Patience(between_questions=60)).until_stop(shown) is Phase.COMPLETED
    assert shown.lines == ["- begins", "- end"]


async def test_nobody_answers_is_said_once_and_given_up_after_its_time() -> None:
    """The first silence is told with the remedy; after the time without answer the follower gives up for exit 5."""
    shown = Shown()
    began = datetime.now(UTC)
    with pytest.raises(Unfinished, match=r"no worker answered.*start one"):
        await Follower(
            ScriptedRun(pages=[SILENCE]), "start one", Patience(between_questions=0.01, without_answer=0.1)
        ).until_stop(shown)
    assert shown.warnings == ["run r1: no worker answered in time; start one"]
    assert timedelta(seconds=0.1) <= datetime.now(UTC) - began


async def test_a_worker_that_is_on_its_way_is_not_missed() -> None:
    """A silence shorter than the time before the warning is not told."""
    shown = Shown()
    patience = Patience(between_questions=0, before_warning=30)
    run = ScriptedRun(pages=[SILENCE, SILENCE, page(Phase.COMPLETED, entry("end"))])
    assert await Follower(run, "hint", patience).until_stop(shown) is Phase.COMPLETED
    assert shown.warnings == []


async def test_steps_are_asked_less_often_than_the_run() -> None:
    """Many questions to the run in a moment cost one to each step."""
    run = ScriptedRun(
        pages=[*[page(Phase.RESEARCHING, running=("r1/s1/1",))] * 5, page(Phase.COMPLETED)],
        step_pages={"r1/s1/1": [page(Phase.RESEARCHING)]},
    )
    await Follower(run, "hint", PATIENT).until_stop(Shown())
    assert [step for _, step in run.asked_since if step] == ["r1/s1/1"] * 2


async def test_a_worker_that_comes_back_is_welcome() -> None:
    """After a silence the following goes on and says so."""
    shown = Shown()
    run = ScriptedRun(pages=[SILENCE, SILENCE, page(Phase.COMPLETED, entry("end"))])
    assert await Follower(run, "hint", PATIENT).until_stop(shown) is Phase.COMPLETED
    assert shown.warnings == ["run r1: no worker answered in time; hint", "a worker answers again"]


async def test_a_waiting_run_without_worker_is_known_to_wait() -> None:
    """Nobody needs to answer for a run of which Temporal knows that it waits for a person."""
    run = ScriptedRun(now=standing(Phase.AWAITING_REVIEW), pages=[SILENCE])
    assert await Follower(run, "hint", PATIENT).until_stop(Shown()) is Phase.AWAITING_REVIEW


async def test_a_stuck_run_is_named() -> None:
    """A run whose code cannot go on is told like a silence, with its own reason."""
    shown = Shown()
    run = ScriptedRun(pages=[Refused("run r1 is stuck and cannot answer: nondeterminism")])
    with pytest.raises(Unfinished, match="stuck"):
        await Follower(run, "hint", AT_ONCE).until_stop(shown)
