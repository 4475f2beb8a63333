"""The state of a run and the decisions about it, without a server."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from deer import flow
from deer.errors import InvalidInput, Refused
from deer.flow import RunState, take_review
from deer.messages import Command, Control, ControlAction, Decision, Review, StepReport
from deer.models import (
    DraftStep,
    Finding,
    FinishedReport,
    FoundSource,
    HandOffDecision,
    Phase,
    PlanDraft,
    ResearchRequest,
    SearchReply,
    Source,
    StepOutcome,
    StepStatus,
    StepType,
    TextRef,
    Usage,
)

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def begun(**fields: Any) -> RunState:
    return RunState.begin("r1", ResearchRequest(question="How well do heat pumps work?", **fields))


def drafted(title: str, step_type: StepType = StepType.RESEARCH, **fields: Any) -> DraftStep:
    return DraftStep(title=title, description=title, step_type=step_type, **fields)


def planned(*steps: DraftStep, **fields: Any) -> RunState:
    """A run whose plan waits for review."""
    state = begun(**fields)
    state.propose(NOW, PlanDraft(title="T", steps=steps), "planner")
    state.enter(Phase.AWAITING_REVIEW)
    state.open_review(NOW)
    return state


def approve(**fields: Any) -> Review:
    return Review(decision=Decision.APPROVE, **fields)


def edit(**fields: Any) -> Review:
    return Review(decision=Decision.EDIT, **fields)


def done(summary: str = "found", **fields: Any) -> StepOutcome:
    return StepOutcome(status=StepStatus.DONE, finding=Finding(summary=summary), **fields)


def test_research_is_independent_and_the_rest_depends_on_all_before() -> None:
    """Without `depends_on` research steps depend on nothing, others on every earlier step; positions become ids."""
    state = planned(
        drafted("A"), drafted("B"), drafted("C", StepType.ANALYSIS), drafted("D", StepType.PROCESSING, depends_on=(2,))
    )
    assert state.plan is not None
    assert [(s.id, s.depends_on) for s in state.plan.steps] == [
        ("s1", ()),
        ("s2", ()),
        ("s3", ("s1", "s2")),
        ("s4", ("s2",)),
    ]


def test_ids_are_never_used_again() -> None:
    """A step that a person drops takes its id with it; a new one gets the next number."""
    state = planned(drafted("A"), drafted("B"))
    take_review(state, NOW, edit(plan={"title": "T", "steps": [{"id": "s1", "title": "A"}, {"title": "New"}]}))
    take_review(state, NOW, edit(plan={"title": "T", "steps": [{"title": "Newer"}]}))
    assert state.plan is not None
    assert [s.id for s in state.plan.steps] == ["s4"]
    assert state.plan.revision == 3


def test_finished_steps_stay_in_a_revised_plan() -> None:
    """A judge's plan that leaves out or rewrites a finished step changes nothing about it."""
    state = planned(drafted("A"), drafted("B"))
    flow.start_ready_steps(state)
    for step_id in ("s1", "s2"):
        flow.end_step(state, NOW, step_id, done())
    draft = PlanDraft(title="T", steps=(drafted("Rewritten", id="s2"), drafted("C", depends_on=("s1",))))
    plan = state.propose(NOW, draft, "judge")
    assert [(s.id, s.title) for s in plan.steps] == [("s1", "A"), ("s2", "B"), ("s3", "C")]
    assert plan.steps[2].depends_on == ("s1",)
    assert [step.id for step in flow.start_ready_steps(state)] == ["s3"]


def test_steps_start_as_their_dependencies_end_and_slots_allow() -> None:
    """At most `max_parallel_steps` run; a step starts when what it depends on has ended, also when that failed."""
    state = planned(*(drafted(f"R{n}") for n in range(3)), drafted("A", StepType.ANALYSIS), max_parallel_steps=2)
    assert [s.id for s in flow.start_ready_steps(state)] == ["s1", "s2"]
    assert flow.start_ready_steps(state) == ()
    flow.end_step(state, NOW, "s1", StepOutcome(status=StepStatus.FAILED, reason="no result"))
    assert [s.id for s in flow.start_ready_steps(state)] == ["s3"]
    flow.end_step(state, NOW, "s2", done())
    assert flow.start_ready_steps(state) == ()
    flow.end_step(state, NOW, "s3", done())
    assert [s.id for s in flow.start_ready_steps(state)] == ["s4"]
    assert state.steps["s4"].attempt == 1


def test_a_failed_dependency_is_told_with_its_reason() -> None:
    """The agent of a later step learns what is missing and why."""
    state = planned(drafted("A"), drafted("B", StepType.ANALYSIS))
    flow.start_ready_steps(state)
    flow.end_step(state, NOW, "s1", StepOutcome(status=StepStatus.FAILED, reason="the model said nothing"))
    [step] = flow.start_ready_steps(state)
    [told] = flow.step_brief(state, step, NOW.date()).findings
    assert (told.step_id, told.status, told.summary, told.reason) == (
        "s1",
        StepStatus.FAILED,
        None,
        "the model said nothing",
    )


@pytest.mark.parametrize(
    ("review", "said"),
    [
        (approve(revision=7), "revision 7 is not the waiting one; that is 1"),
        (edit(revision=7, feedback="x"), "revision 7"),
    ],
)
def test_a_review_of_another_revision_is_refused(review: Review, said: str) -> None:
    """Only the waiting revision can be reviewed; nothing changes."""
    state = planned(drafted("A"))
    before = state.model_copy(deep=True)
    with pytest.raises(Refused, match=said):
        take_review(state, NOW, review)
    assert state == before


def test_a_review_is_taken_only_while_a_plan_waits() -> None:
    """Before there is a plan, after it was answered, and after the end, the reason says which it is."""
    with pytest.raises(Refused, match="no plan to review yet"):
        take_review(begun(), NOW, approve())
    state = planned(drafted("A"))
    take_review(state, NOW, approve(reviewer="ada"))
    assert state.phase is Phase.RESEARCHING
    assert (state.handoffs[-1].sender, state.handoffs[-1].reason) == ("ada", "approved revision 1")
    with pytest.raises(Refused, match="answered already"):
        take_review(state, NOW, approve())
    flow.begin_round(state, NOW)
    with pytest.raises(Refused, match="no plan is waiting"):
        take_review(state, NOW, approve())
    state.end(NOW, Phase.COMPLETED, None)
    with pytest.raises(Refused, match=r"already finished \(completed\)"):
        take_review(state, NOW, approve())


def test_an_edit_by_words_goes_back_to_the_planner_with_all_that_was_said() -> None:
    """Feedback adds up, and the run is at once in `planning`, so that nobody waits for the old plan."""
    state = planned(drafted("A"))
    take_review(state, NOW, edit(feedback=" costs too "))
    assert (state.phase, state.wants_new_plan()) == (Phase.PLANNING, True)
    state.propose(NOW, PlanDraft(title="T2", steps=(drafted("B"),)), "planner")
    state.open_review(NOW)
    take_review(state, NOW, edit(feedback="and noise"))
    brief = flow.planner_brief(state, NOW.date(), ())
    assert brief.feedback == ("costs too", "and noise")
    assert brief.earlier_plan == state.plan


def test_edits_are_limited_and_approval_is_not() -> None:
    """After the last edit a person can still approve."""
    state = planned(drafted("A"), max_edits=1)
    take_review(state, NOW, edit(plan={"title": "T", "steps": [{"title": "B"}]}))
    with pytest.raises(Refused, match="all 1 edits of this run are used; approve the plan or cancel"):
        take_review(state, NOW, edit(feedback="more"))
    assert take_review(state, NOW, approve()) == "revision 2 is approved"


def test_an_invalid_plan_is_refused_and_the_old_one_kept() -> None:
    """A person's plan is held to the rules of every plan."""
    state = planned(drafted("A"))
    with pytest.raises(InvalidInput, match="steps: a plan needs at least one step"):
        take_review(state, NOW, edit(plan={"title": "T", "steps": []}))
    assert (state.revisions, state.edits) == (1, 0)


def test_a_hold_restores_the_phase_before_it() -> None:
    """Holds of several steps make one wait; with the last released the run goes on where it was."""
    state = planned(drafted("A"), drafted("B"))
    take_review(state, NOW, approve())
    flow.start_ready_steps(state)
    for step_id in ("s1", "s2"):
        flow.take_step_report(state, NOW, StepReport(step_id=step_id, held="the key was refused"))
    assert (state.phase, state.reason) == (Phase.NEEDS_ATTENTION, "the key was refused")
    orders = flow.take_control(state, NOW, Control(action=ControlAction.RETRY))
    assert orders.tell == {"s1": Command.RETRY, "s2": Command.RETRY}
    assert (state.phase, state.reason) == (Phase.RESEARCHING, None)
    for step_id in ("s1", "s2"):
        flow.take_step_report(state, NOW, StepReport(step_id=step_id, held=None))
    assert (state.phase, state.reason) == (Phase.RESEARCHING, None)


def test_a_hold_ends_with_its_step() -> None:
    """A held step that is cancelled takes its hold with it."""
    state = planned(drafted("A"), drafted("B"))
    take_review(state, NOW, approve())
    flow.start_ready_steps(state)
    flow.take_step_report(state, NOW, StepReport(step_id="s1", held="no quota", number=1))
    flow.end_step(state, NOW, "s1", StepOutcome(status=StepStatus.SKIPPED, reason="it was cancelled"))
    assert (state.phase, state.held) == (Phase.RESEARCHING, {})


def test_a_report_that_was_overtaken_is_void() -> None:
    """A hold that is taken over after the release that followed it holds nobody."""
    state = planned(drafted("A"))
    take_review(state, NOW, approve())
    flow.start_ready_steps(state)
    flow.take_step_report(state, NOW, StepReport(step_id="s1", held=None, number=2))
    flow.take_step_report(state, NOW, StepReport(step_id="s1", held="late", number=1))
    assert state.phase is Phase.RESEARCHING


def test_steps_that_can_never_start_are_a_gap() -> None:
    """When nothing runs and nothing can start, what is left failed: a run does not end as if it were whole."""
    state = planned(drafted("A"))
    flow.settle_waiting_steps(state, NOW)
    assert flow.gaps(state) == ("The step “A” found nothing: the steps that it depends on never end",)


def test_a_phase_entered_while_held_comes_after_the_hold() -> None:
    """The hold stays visible until it is released."""
    state = begun()
    flow.hold(state, NOW, "", "no quota")
    state.enter(Phase.PLANNING)
    held_in = state.phase
    state.release("")
    assert (held_in, state.phase) == (Phase.NEEDS_ATTENTION, Phase.PLANNING)


@pytest.mark.parametrize(
    ("control", "said"),
    [
        (Control(action=ControlAction.RETRY), "nothing is held"),
        (Control(action=ControlAction.RESUME), "is not paused"),
        (Control(action=ControlAction.RETRY, step_id="s1"), "step s1 has not failed; it is pending"),
        (Control(action=ControlAction.SKIP, step_id="s9"), "there is no step 's9'; the steps are: s1"),
    ],
)
def test_a_control_that_does_not_fit_is_refused(control: Control, said: str) -> None:
    """What cannot be done now is refused with the reason."""
    with pytest.raises(Refused, match=said):
        flow.check_control(planned(drafted("A")), control)


def test_a_report_of_a_step_that_is_not_at_work_is_refused() -> None:
    """Nobody can hold a run in the name of a step that does not exist or has ended."""
    with pytest.raises(Refused, match="no step 's9' is at work"):
        flow.take_step_report(planned(drafted("A")), NOW, StepReport(step_id="s9", held="x"))


def test_the_locale_of_the_request_beats_the_coordinator() -> None:
    """Without one the coordinator's counts, and before that a guess by the letters."""
    decision = HandOffDecision(locale="de-DE", topics=("t",), usage=Usage(model_calls=1))
    fixed, open_ = begun(locale="fr-FR"), begun()
    for state in (fixed, open_):
        flow.take_decision(state, NOW, decision)
    assert (fixed.locale, open_.locale) == ("fr-FR", "de-DE")
    assert RunState.begin("r", ResearchRequest(question="热泵在寒冷地区的效率如何？")).locale == "zh-CN"


def test_a_plan_knows_enough_only_with_evidence_or_nothing_to_look_up() -> None:
    """`has_enough_context` skips the steps of a plan only when the background search brought sources."""
    enough = PlanDraft(title="T", has_enough_context=True, steps=(drafted("A"),))
    state = begun()
    state.propose(NOW, enough, "planner")
    assert not state.knows_enough()
    found = FoundSource(url="https://a.example", title="A", summary="s")
    state.take_background(NOW, SearchReply(sources=(found,), was_paid=True))
    assert state.knows_enough()
    bare = begun()
    bare.propose(NOW, enough.model_copy(update={"steps": ()}), "planner")
    assert bare.knows_enough()


def test_gaps_are_failed_and_skipped_steps_and_lost_reports() -> None:
    """Notices alone do not make an end one with gaps; a failed step does, and is told to the reader."""
    state = planned(drafted("A"), drafted("B"))
    flow.start_ready_steps(state)
    flow.end_step(state, NOW, "s1", done(notices=("a notice",)))
    assert flow.end_phase(state) is Phase.COMPLETED
    flow.end_step(state, NOW, "s2", StepOutcome(status=StepStatus.FAILED, reason="no result"))
    assert flow.gaps(state) == ("The step “B” found nothing: no result",)
    assert flow.end_phase(state) is Phase.COMPLETED_WITH_GAPS


def test_a_cancelled_run_leaves_no_step_running() -> None:
    """A step at work when the run ends brought nothing, and says why; what was found stays."""
    state = planned(drafted("A"), drafted("B"), drafted("C", StepType.ANALYSIS))
    flow.start_ready_steps(state)
    flow.end_step(state, NOW, "s1", done("kept"))
    state.end(NOW, Phase.CANCELLED, "cancelled by a person")
    status = flow.status_of(state)
    assert (status.handoffs[-1].sender, status.handoffs[-1].to) == ("person", "end")
    assert status.plan is not None
    assert [(s.status, s.finding, s.reason) for s in status.plan.steps] == [
        (StepStatus.DONE, "kept", None),
        (StepStatus.SKIPPED, None, "cancelled by a person"),
        (StepStatus.PENDING, None, None),
    ]


def test_the_report_numbers_the_sources_that_it_cites() -> None:
    """Cited sources have the number of their first use, others none; what was removed is told."""
    state = begun()
    state.sources.merge([Source(id="s1-1", url="https://a.example", title="A")])
    state.sources.merge([Source(id="s1-2", url="https://b.example", title="B")])
    finished = FinishedReport(text="# R [1]", numbers={"s1-2": 1}, removed_markers=2, removed_links=0)
    state.take_report(NOW, finished)
    assert [(s.id, s.number, s.cited) for s in flow.status_of(state).sources] == [
        ("s1-1", None, False),
        ("s1-2", 1, True),
    ]
    assert state.notices == ("2 citations to sources that this run has not seen were removed from the report.",)


def test_long_texts_show_their_beginning_and_where_the_whole_is() -> None:
    """In the status object a stored text is its preview; `references` leads to the whole."""
    ref = TextRef(sha256="a" * 64, chars=9_000, preview="The beginning…")
    state = planned(drafted("A"))
    flow.start_ready_steps(state)
    flow.end_step(state, NOW, "s1", StepOutcome(status=StepStatus.DONE, finding=Finding(summary=ref)))
    state.report = ref
    status = flow.status_of(state)
    assert status.plan is not None
    assert status.report is not None
    assert status.plan.steps[0].finding == status.report.markdown == "The beginning…"
    assert flow.references_of(state) == {"plan.steps.s1.finding": ref, "report.markdown": ref}


def test_the_picture_escapes_what_others_wrote() -> None:
    """Titles and reasons come from models and pages: they cannot draw in Temporal's UI."""
    state = planned(drafted("**bold** [x](javascript:1)\n# H"))
    shown = flow.picture(state)
    assert "\\*\\*bold\\*\\* \\[x\\](javascript:1) \\# H" in shown
    assert "**awaiting_review**" in shown
    assert "signal `approve`" in shown


def test_the_state_survives_a_round_trip() -> None:
    """A run can continue with its state as JSON: nothing of it lives outside."""
    state = planned(drafted("A"))
    take_review(state, NOW, approve())
    flow.start_ready_steps(state)
    assert RunState.model_validate_json(state.model_dump_json()) == state


def test_runs_share_nothing() -> None:
    """Two runs of one process have sources and steps of their own."""
    one, other = begun(), begun()
    one.sources.merge([Source(id="b-1", url="https://a.example", title="A")])
    assert other.sources.all() == ()


def test_a_pause_counts_for_no_review_deadline() -> None:
    """The clock of a review stands still in a pause; one shown only in the pause starts with its end."""
    hour = timedelta(hours=1)
    state = planned(drafted("A"), review_deadline=8 * hour)
    state.pause(NOW + hour)
    assert state.review_time_left(NOW + 5 * hour) is None
    state.resume(NOW + 5 * hour)
    assert state.review_time_left(NOW + 6 * hour) == 6 * hour
    state.pause(NOW + 6 * hour)
    state.propose(NOW, PlanDraft(title="T", steps=(drafted("B"),)), "planner")
    state.open_review(NOW + 7 * hour)
    state.resume(NOW + 9 * hour)
    assert state.review_time_left(NOW + 9 * hour) == 8 * hour
