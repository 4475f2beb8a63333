"""Reviews of a plan: as commands send them, and as a conversation at the terminal."""

import getpass
from collections.abc import Mapping
from typing import Any

from rich.text import Text

from deer.cli.handles import RunHandle
from deer.cli.pictures import plan_table
from deer.cli.plan_files import parse_plan_text, plan_as_yaml
from deer.cli.terminal import Terminal
from deer.errors import InvalidInput, Refused
from deer.messages import Decision
from deer.models import Phase, PlanStatus

_CHOICES = "Accept the plan [a], change it in words [w], edit it in your editor [e], or leave it waiting [l]?"
_NOT_TAKEN = "# NOT TAKEN: "


def approval(revision: int | None) -> dict[str, Any]:  # a message of deer.messages
    """The review that accepts a plan; None means the plan that is waiting."""
    return _review(Decision.APPROVE, revision)


def edit_by_words(feedback: str, revision: int | None) -> dict[str, Any]:  # a message of deer.messages
    """The review that asks for a new plan."""
    return {**_review(Decision.EDIT, revision), "feedback": feedback}


def edit_by_plan(plan: Mapping[str, Any], revision: int | None) -> dict[str, Any]:  # a message of deer.messages
    """The review that replaces the plan."""
    return {**_review(Decision.EDIT, revision), "plan": dict(plan)}


async def review_at_terminal(run: RunHandle, plan: PlanStatus, terminal: Terminal) -> bool:
    """Show a plan and do with it what the person says; returns False when it is left waiting.

    What the run refuses is shown, and the person asked again, unless somebody else has answered the plan.
    """
    terminal.show(plan_table(plan, with_status=False))
    while True:
        choice = await terminal.ask(_CHOICES)
        if choice is None or choice.lower() in {"l", "leave", "q"}:
            return False
        try:
            if await _carry_out(choice.lower(), run, plan, terminal):
                return True
        except (Refused, InvalidInput) as refusal:
            terminal.show(Text(f"Not taken: {refusal}", "red"))
            if await _is_answered(run, plan):
                return True


async def _is_answered(run: RunHandle, plan: PlanStatus) -> bool:
    """Whether this plan waits no more, as somebody else has answered it."""
    if (await run.standing()).phase is not Phase.AWAITING_REVIEW:
        return True
    latest = (await run.status()).plan
    return latest is not None and latest.revision != plan.revision


async def _carry_out(choice: str, run: RunHandle, plan: PlanStatus, terminal: Terminal) -> bool:
    """Whether the run has taken a review."""
    if choice in {"a", "accept", "y", "yes"}:
        await run.update("review", approval(plan.revision))
        return True
    if choice in {"w", "words"}:
        feedback = await terminal.ask("What should change?")
        if not feedback:
            return False
        await run.update("review", edit_by_words(feedback, plan.revision))
        return True
    if choice in {"e", "edit"}:
        return await _edit_in_editor(run, plan, terminal)
    terminal.show(Text("Answer with a, w, e or l."))
    return False


async def _edit_in_editor(run: RunHandle, plan: PlanStatus, terminal: Terminal) -> bool:
    """Let the person edit the plan until the run takes it or they send nothing; their text is never lost."""
    original = plan_as_yaml(plan)
    text = original
    while True:
        edited = _without_complaint(await terminal.edit(text))
        if edited.strip() == original.strip() or _is_blank(edited):
            return False
        try:
            await run.update("review", edit_by_plan(parse_plan_text(edited), plan.revision))
        except (InvalidInput, Refused) as refusal:
            terminal.show(Text(f"Not taken: {refusal}", "red"))
            again = await terminal.ask("Enter opens the editor again with your text; x keeps the old plan.")
            if again is None or again.lower() == "x":
                return False
            text = f"{_NOT_TAKEN}{refusal}\n{edited}"
        else:
            return True


def _review(decision: Decision, revision: int | None) -> dict[str, Any]:  # a message of deer.messages
    review: dict[str, Any] = {"decision": decision.value}
    if revision is not None:
        review["revision"] = revision
    if reviewer := _user_name():
        review["reviewer"] = reviewer
    return review


def _user_name() -> str | None:
    try:
        return getpass.getuser()[:200]
    except (KeyError, OSError, ImportError):  # a container's user may have no name
        return None


def _without_complaint(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_NOT_TAKEN))


def _is_blank(text: str) -> bool:
    return not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())
