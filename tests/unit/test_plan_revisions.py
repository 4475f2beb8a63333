"""The revisions of a plan that a run keeps, for whoever asks later what was changed and approved."""

from datetime import UTC, datetime

from deer.flow import RunState, take_control, take_review
from deer.messages import Control, ControlAction, Decision, Review
from deer.models import DraftStep, Phase, PlanDraft, ResearchRequest, StepType

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def draft_of(*titles: str, description: str = "Look.") -> PlanDraft:
    """A plan of research steps with these titles."""
    steps = [DraftStep(title=title, description=description, step_type=StepType.RESEARCH) for title in titles]
    return PlanDraft(title="T", steps=tuple(steps))


def waiting(title: str) -> RunState:
    """A run whose first plan, of one step, waits for review."""
    state = RunState.begin("r1", ResearchRequest(question="How well do heat pumps work?"))
    state.propose(NOW, draft_of(title), "planner")
    state.enter(Phase.AWAITING_REVIEW)
    state.open_review(NOW)
    return state


def test_every_earlier_revision_is_kept() -> None:
    """Edits by words and by plan, and a step that is added later, each leave the plan before them to be looked up."""
    state = waiting("A")
    take_review(state, NOW, Review(decision=Decision.EDIT, feedback="more"))
    state.propose(NOW, draft_of("B"), "planner")
    state.open_review(NOW)
    take_review(state, NOW, Review(decision=Decision.EDIT, plan={"title": "T", "steps": [{"title": "C"}]}))
    take_review(state, NOW, Review(decision=Decision.APPROVE))
    take_control(state, NOW, Control(action=ControlAction.ADD_STEP, step={"title": "D"}))
    assert [(plan.revision, [step.title for step in plan.steps]) for plan in state.earlier_plans] == [
        (1, ["A"]),
        (2, ["B"]),
        (3, ["C"]),
    ]


def test_earlier_revisions_of_any_size_leave_the_state_small() -> None:
    """Twenty edits of plans of 12 KB are all kept; of the largest plans there can be the latest, so far as they fit."""
    for steps, chars, kept in ((15, 700, 20), (30, 4_000, 2)):
        state = waiting("A")
        for number in range(20):
            titles = [f"Step {number}.{step}" for step in range(steps)]
            state.propose(NOW, draft_of(*titles, description="x" * chars), "planner")
        assert [plan.revision for plan in state.earlier_plans] == list(range(21 - kept, 21))
        assert len(state.model_dump_json()) < 500_000
