"""Reviews of the plan that waits: which are taken, and what each does."""

from datetime import datetime

from deer.errors import Refused
from deer.flow.progress import MAX_ENTRY_CHARS
from deer.flow.state import ReviewState, RunState
from deer.messages import Decision, Review
from deer.models import Phase, PlanDraft
from deer.parsing import parse_plan


def check_review(state: RunState, review: Review) -> PlanDraft | None:
    """Whether a review fits the run now; returns the draft of an edit by plan.

    Raises Refused or InvalidInput with the reason; nothing changes.
    """
    if state.phase.is_end:
        raise Refused(f"the run has already finished ({state.phase})")
    if not state.reviewable or state.plan is None:
        raise Refused("no plan is waiting for review" if state.plan else "there is no plan to review yet")
    if state.review is not ReviewState.WAITING:
        raise Refused(f"revision {state.plan.revision} has been answered already")
    if review.revision is not None and review.revision != state.plan.revision:
        raise Refused(f"revision {review.revision} is not the waiting one; that is {state.plan.revision}")
    if review.decision is Decision.APPROVE:
        return None
    if state.edits >= state.request.max_edits:
        raise Refused(f"all {state.request.max_edits} edits of this run are used; approve the plan or cancel")
    return parse_plan(review.plan, state.rules) if review.plan is not None else None


def take_review(state: RunState, at: datetime, review: Review) -> str:
    """Act on a review; returns what it did in plain words. Raises as `check_review`."""
    draft = check_review(state, review)
    reviewer = review.reviewer or "person"
    if review.decision is Decision.APPROVE:
        state.review = ReviewState.APPROVED
        state.enter(Phase.RESEARCHING)  # at once, so that nobody is told of a wait that is over
        state.hand_off(at, reviewer, "research team", f"approved revision {state.revisions}")
        return f"revision {state.revisions} is approved"
    state.edits += 1
    if draft is not None:
        state.propose(at, draft, reviewer)
        return f"the plan is now revision {state.revisions}"
    state.feedback = (*state.feedback, (review.feedback or "").strip())
    state.review = ReviewState.REPLANNING
    state.close_review()  # the new plan has been seen by nobody before it is shown
    state.enter(Phase.PLANNING)
    state.hand_off(at, reviewer, "planner", f"asked for changes: {state.feedback[-1]}"[:MAX_ENTRY_CHARS])
    return "the planner writes a new plan"


def accept_unanswered(state: RunState, at: datetime) -> None:
    """The deadline passed, and the request says that this accepts the plan."""
    state.review = ReviewState.APPROVED
    state.hand_off(at, "review", "research team", "accepted: nobody answered before the deadline")
