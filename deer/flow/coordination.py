"""What the coordinator decides: an answer of its own, a question to the person, or a hand-over to the planner."""

from datetime import datetime

from deer.errors import Refused
from deer.flow.progress import MAX_ENTRY_CHARS
from deer.flow.state import RunState
from deer.messages import Answer
from deer.models import Clarification, ClarifyingQuestion, HandOffDecision, Phase, Role


def take_decision(state: RunState, at: datetime, decision: HandOffDecision) -> None:
    """Answer at once, ask back, or hand over to the planner. A locale in the request beats the coordinator's.

    Once a person has answered, what they asked and answered is the topic, and not what the coordinator makes of it.
    """
    state.spend(decision.usage, Role.COORDINATOR)
    if state.request.locale is None:
        state.locale = decision.locale
    if decision.question is not None:
        state.hand_off(at, "coordinator", "person", f"asks: {decision.question.text}"[:MAX_ENTRY_CHARS])
        return
    if decision.answer is not None:
        state.answer = decision.answer
        state.hand_off(at, "coordinator", "person", "answered without research")
        return
    state.topics = (clarified_question(state),) if state.clarifications else decision.topics
    reason = "; ".join(state.topics)
    state.hand_off(at, "coordinator", "planner", f"research: {reason}"[:MAX_ENTRY_CHARS])


def questions_left(state: RunState) -> int:
    """How often the coordinator may still ask back."""
    return max(0, state.request.max_clarification_rounds - len(state.clarifications))


def clarified_question(state: RunState) -> str:
    """What the person asked, and below it each of their answers: the words of nobody else."""
    return "\n".join([state.request.question, *(said.answer for said in state.clarifications)])


def open_question(state: RunState, question: ClarifyingQuestion) -> None:
    """From now on the question can be answered; it is the reason why the run waits."""
    state.asked = question
    state.enter(Phase.CLARIFYING, question.with_options)


def check_answer(state: RunState) -> None:
    """Whether an answer fits the run now. Raises Refused with the reason; nothing changes."""
    if state.phase.is_end:
        raise Refused(f"the run has already finished ({state.phase})")
    if state.asked is None:
        raise Refused(f"the run asks nothing now; it is {state.phase}")


def take_answer(state: RunState, at: datetime, answer: Answer) -> str:
    """Give the coordinator the answer; returns what was done in plain words. Raises as `check_answer`."""
    check_answer(state)
    assert state.asked is not None
    state.clarifications = (*state.clarifications, Clarification(question=state.asked, answer=answer.text))
    state.asked = None
    state.enter(Phase.COORDINATING)  # at once, so that nobody is told of a wait that is over
    state.hand_off(at, "person", "coordinator", f"answered: {answer.text}"[:MAX_ENTRY_CHARS])
    if not questions_left(state):
        state.record(at, f"all {len(state.clarifications)} questions back are asked")
    return "the coordinator has the answer"
