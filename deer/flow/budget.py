"""The budget of a run: what it still allows, in which words it ends work, and the clock that its minutes go by."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from deer.errors import InvalidInput
from deer.flow.ledger import RESERVE, WITH_RESERVE, amount, for_research
from deer.flow.state import RunState
from deer.messages import Command
from deer.models import Budget, Kind, Lease, Role, Spent, Step, StepStatus, Usage
from deer.parsing import first_error
from deer.wording import word

# The clock


def tell_time(state: RunState, at: datetime) -> None:
    """Count the time since it was last told, unless the run waited for a person then or had ended."""
    if state.working_since is not None:
        state.worked += max(timedelta(), at - state.working_since)
    is_working = not (state.phase.waits_for_a_person or state.phase.is_end)
    state.working_since = at if is_working else None


def time_watched(state: RunState) -> tuple[float, bool] | None:
    """What the time that is left depends on besides the time itself; None while minutes have no limit."""
    minutes = state.ledger.budget.minutes
    return None if minutes is None else (minutes, state.working_since is not None)


def time_left(state: RunState) -> timedelta | None:
    """How long research may go on, by the time last told; None when nothing ends it or the clock stands."""
    minutes = for_research(state.ledger.budget, Kind.MINUTES)
    if minutes is None or state.working_since is None:
        return None
    left = timedelta(minutes=minutes) - state.worked
    return left if left > timedelta() else None


def end_overdue_steps(state: RunState) -> dict[str, Command]:
    """When the time for research is over: what the steps at work are to be told, each once."""
    if _has_left(state, Kind.MINUTES):
        return {}
    overdue = [
        step_id
        for step_id, progress in state.steps.items()
        if progress.status is StepStatus.RUNNING and progress.ended_by is None
    ]
    for step_id in overdue:
        state.steps[step_id].ended_by = why_spent(state, Kind.MINUTES)
    return dict.fromkeys(overdue, Command.WIND_DOWN)


# What is left


def used(state: RunState, kind: Kind) -> float:
    """How much of a kind is used, that of steps at work as far as they said it."""
    if kind is Kind.MINUTES:
        return state.worked / timedelta(minutes=1)
    at_work = sum(amount(lease.usage, kind) for lease in state.ledger.leases.values())
    return amount(state.usage, kind) + at_work


def budget_status(state: RunState) -> dict[Kind, Spent]:
    """Limit and use of every kind that is limited."""
    limits = {kind: state.ledger.budget.limit(kind) for kind in Kind}
    return {
        kind: Spent(limit=limit, used=round(used(state, kind), 6))
        for kind, limit in limits.items()
        if limit is not None
    }


def _has_left(state: RunState, kind: Kind) -> bool:
    if kind is not Kind.MINUTES:
        return state.ledger.has_left(kind, state.usage)
    minutes = for_research(state.ledger.budget, kind)
    return minutes is None or state.worked < timedelta(minutes=minutes)


def lacking_for(state: RunState, step: Step) -> Kind | None:
    """What a step cannot begin without and is not there now."""
    needed = (*WITH_RESERVE, Kind.SEARCHES) if step.need_search and state.request.can_search else WITH_RESERVE
    return next((kind for kind in needed if not _has_left(state, kind)), None)


def lacking_for_research(state: RunState) -> Kind | None:
    """What no more research of any sort can begin without, and is not there now."""
    return next((kind for kind in WITH_RESERVE if not _has_left(state, kind)), None)


def may_look_around(state: RunState) -> bool:
    """Whether the search before the plan is within the budget."""
    return _has_left(state, Kind.SEARCHES)


def why_no_report(state: RunState) -> str | None:
    """Why no model can be paid for the report any more: the budget is spent, and the reporter has had its reserve.

    However far the last calls of the steps went beyond the limit, the reserve is the reporter's.
    """
    reporter = state.spent_by.get(Role.REPORTER, Usage())
    for kind in WITH_RESERVE:
        reserve = RESERVE * (state.ledger.budget.limit(kind) or 0)
        had = reporter.model_calls > 0 if kind is Kind.MINUTES else amount(reporter, kind) >= reserve
        if had and _is_spent_whole(state, kind):
            return why_spent(state, kind)
    return None


def _is_spent_whole(state: RunState, kind: Kind) -> bool:
    limit = state.ledger.budget.limit(kind)
    return limit is not None and used(state, kind) >= limit


def why_spent(state: RunState, kind: Kind) -> str:
    """That a limit is reached, in words that name it."""
    limit = state.ledger.budget.limit(kind) or 0
    reason = word(f"budget_{kind}", state.locale, limit=_figure(limit))
    if kind in WITH_RESERVE and not _is_spent_whole(state, kind):
        return word("budget_reserve", state.locale, reason=reason)
    return reason


def _figure(number: float) -> str:
    return f"{number:,.12g}"


def unpriced_notice(usage: Usage, locale: str) -> str | None:
    """What to tell of a call that has no part in the cost, where that is limited; None of any other call."""
    return word("unpriced", locale, models=", ".join(usage.models)) if usage.unpriced_calls else None


# Leases


def settle_leases(state: RunState, at: datetime) -> dict[str, Lease]:
    """What the steps that wait for more are told now; empty while all that can be done is to wait."""

    def deny(kind: Kind) -> str:
        reason = why_spent(state, kind)
        if kind not in WITH_RESERVE:
            meet_limit(state, at, "lookups_left_out", reason)
        return reason

    return state.ledger.settle(state.usage, deny)


def meet_limit(state: RunState, at: datetime, key: str, reason: str) -> None:
    """Tell, here and in the report, what a limit left out."""
    text = word(key, state.locale, reason=reason)
    state.notice(at, text)
    if text not in state.limits_met:
        state.limits_met = (*state.limits_met, text)


def budget_ends_rounds(state: RunState, at: datetime) -> bool:
    """Whether rounds are left that the budget does not allow; if so, it is told."""
    if state.round >= state.request.max_rounds or state.finishing:
        return False
    if (kind := lacking_for_research(state)) is None:
        return False
    state.has_gaps = True
    meet_limit(state, at, "rounds_left_out", why_spent(state, kind))
    return True


# Changing it


def changed_budget(state: RunState, limits: Mapping[str, Any] | None) -> Budget:  # Any: as a person sent it
    """The budget with other limits, null for none. Raises InvalidInput naming the limit."""
    if not limits:
        raise InvalidInput(f"say which limits: {{{', '.join(Kind)}}}", "budget")
    try:
        return Budget.model_validate({**state.ledger.budget.model_dump(), **limits})
    except ValidationError as error:
        raise InvalidInput(str(first_error(error)), "budget") from None


def change_budget(state: RunState, at: datetime, budget: Budget) -> dict[str, Lease]:
    """Other limits from now on; what the steps at work are to be told."""
    told = state.ledger.change(budget, state.usage)
    return told | settle_leases(state, at)


def in_words(budget: Budget) -> str:
    """The limits, such as `50,000 tokens, 12 searches`."""
    limits = {kind: budget.limit(kind) for kind in Kind}
    named = [
        f"{_figure(limit)} {'USD' if kind is Kind.USD else kind}" for kind, limit in limits.items() if limit is not None
    ]
    return ", ".join(named) or "without limits"
