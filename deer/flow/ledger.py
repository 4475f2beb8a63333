"""The ledger of a budget: what a run has spent, what its steps hold, and what is left to give."""

from collections.abc import Callable, Mapping
from math import ceil, floor

from pydantic import BaseModel

from deer.models import Budget, Kind, Lease, Usage

LEASED = (Kind.TOKENS, Kind.USD, Kind.SEARCHES, Kind.PAGES)
"""Steps hold these; minutes pass for all of them at once."""

WITH_RESERVE = (Kind.TOKENS, Kind.USD, Kind.MINUTES)
RESERVE = 0.15
"""Share of these limits that steps cannot have: the report is written from it."""

_SHARES = 2
"""Steps at work are given half of what is left between them, so that some remains for those that need more."""

_SMALLEST_LEASE = 0.02
"""Of a limit: with it a run asks for at most fifty leases of a kind, however many calls it makes."""

_DUST_USD = 1e-9
_WHOLE = (Kind.TOKENS, Kind.SEARCHES, Kind.PAGES)


def amount(usage: Usage, kind: Kind) -> float:
    """How much of a leased kind a usage is."""
    amounts: Mapping[Kind, float] = {
        Kind.TOKENS: usage.input_tokens + usage.output_tokens,
        Kind.USD: usage.cost_usd,
        Kind.SEARCHES: usage.searches,
        Kind.PAGES: usage.pages,
    }
    return amounts[kind]


def for_research(budget: Budget, kind: Kind) -> float | None:
    """The limit of a kind without the reserve; None is no limit."""
    limit = budget.limit(kind)
    if limit is None or kind not in WITH_RESERVE:
        return limit
    share = limit * (1 - RESERVE)
    return floor(share) if kind in _WHOLE else share


class StepLease(BaseModel):
    """What a step at work holds.

    `granted`: what is set aside for it in all. `told`: the totals that it knows; lower while it is asked to account.
    `usage`: what it had spent when it last said so, calls in flight counted. `wants`: the kinds of which it waits for
    more. `denied`: those of which it was told why there is no more. `owed`: those whose limit is new, of which it has
    not yet said what it spent before.
    """

    granted: dict[Kind, float] = {}
    told: dict[Kind, float] = {}
    usage: Usage = Usage()
    wants: tuple[Kind, ...] = ()
    denied: dict[Kind, str] = {}
    owed: tuple[Kind, ...] = ()

    def holds(self, kind: Kind) -> float:
        """What is not there for others, all that it spent included."""
        return max(self.granted.get(kind, 0), amount(self.usage, kind))

    def grant(self, kind: Kind, total: float) -> None:
        """From now on it may spend so much from its beginning."""
        self.granted[kind] = self.told[kind] = total
        self.denied.pop(kind, None)

    def lift(self, kind: Kind) -> None:
        """From now on the kind has no limit."""
        for known in (self.granted, self.told, self.denied):
            known.pop(kind, None)
        self.wants = tuple(wanted for wanted in self.wants if wanted is not kind)
        self.owed = tuple(each for each in self.owed if each is not kind)

    def call_to_account(self, kind: Kind) -> None:
        """From now on the kind has a limit, of which nothing is given before all have said what they spent."""
        self.grant(kind, amount(self.usage, kind))
        self.owed = (*self.owed, kind)


class Ledger(BaseModel):
    """Who may spend how much of a budget. `spent` is always what has been spent outside the steps at work."""

    budget: Budget = Budget()
    leases: dict[str, StepLease] = {}

    def left(self, kind: Kind, spent: Usage) -> float | None:
        """What can still be given to steps; negative when more was spent than is allowed, None without a limit.

        Nothing as long as a step has not said what it spent before there was a limit.
        """
        limit = for_research(self.budget, kind)
        if limit is None:
            return None
        left = limit - amount(spent, kind) - sum(lease.holds(kind) for lease in self.leases.values())
        return min(0, left) if any(kind in lease.owed for lease in self.leases.values()) else left

    def has_left(self, kind: Kind, spent: Usage) -> bool:
        """Whether anything can still be given."""
        left = self.left(kind, spent)
        return left is None or left > (_DUST_USD if kind is Kind.USD else 0)

    def open(self, step_id: str, spent: Usage, at_work: int) -> None:
        """A step begins, as one of so many at work, with a share of every limited kind."""
        lease = self.leases[step_id] = StepLease()
        for kind in LEASED:
            if self.budget.limit(kind) is not None:
                lease.grant(kind, self._share(kind, spent, at_work))

    def _share(self, kind: Kind, spent: Usage, at_work: int) -> float:
        left, limit = self.left(kind, spent), self.budget.limit(kind)
        assert left is not None
        assert limit is not None
        share = max(left / (_SHARES * max(1, at_work)), limit * _SMALLEST_LEASE)
        return max(0, min(left, ceil(share) if kind in _WHOLE else share))

    def lease_of(self, step_id: str) -> Lease | None:
        """What a step is told of its lease; None without any limit, and for a step that is not at work."""
        lease = self.leases.get(step_id)
        return Lease(granted=lease.told, denied=lease.denied) if lease and lease.told else None

    def ask(self, step_id: str, usage: Usage, wants: Mapping[Kind, float]) -> None:
        """A step at work says what it spent, and of which kinds it waits for more, each with the total that it knows.

        A total that is not the latest was overtaken by an answer, which is on its way.
        """
        lease = self.leases[step_id]
        lease.usage = usage
        for kind, known in wants.items():
            if kind not in lease.wants and lease.told.get(kind) == known:
                lease.wants = (*lease.wants, kind)
                lease.owed = tuple(owed for owed in lease.owed if owed is not kind)
                lease.granted[kind] = amount(usage, kind)

    def settle(self, spent: Usage, why: Callable[[Kind], str]) -> dict[str, Lease]:
        """Answer the steps that wait, as far as they can be answered now: new totals, or why there is no more.

        Nobody is denied what a step at work may still return. When all of them wait, those go first that end by it.
        """
        answered = [step_id for step_id, lease in self.leases.items() if self._serve(lease, spent)]
        waiting = [step_id for step_id, lease in self.leases.items() if lease.wants]
        if waiting and len(waiting) == len(self.leases):
            ending = [step_id for step_id in waiting if {Kind.TOKENS, Kind.USD} & set(self.leases[step_id].wants)]
            for step_id in ending or waiting:
                lease = self.leases[step_id]
                lease.denied |= {kind: why(kind) for kind in lease.wants}
                lease.wants = ()
                answered.append(step_id)
        return {step_id: self.lease_of(step_id) or Lease() for step_id in answered}

    def _serve(self, lease: StepLease, spent: Usage) -> bool:
        served = [kind for kind in lease.wants if self.has_left(kind, spent)]
        for kind in served:
            if self.budget.limit(kind) is None:
                lease.lift(kind)
            else:
                lease.grant(kind, lease.holds(kind) + self._share(kind, spent, len(self.leases)))
        lease.wants = tuple(kind for kind in lease.wants if kind not in served)
        return bool(served)

    def change(self, budget: Budget, spent: Usage) -> dict[str, Lease]:
        """Other limits from now on; what the steps at work are to be told at once.

        A limit that is new has them account at once, one that is gone is lifted, and what was denied is given as far as
        it is there now. Where a lowered limit leaves nothing, each step has to account before its next call.
        """
        earlier, self.budget = self.budget, budget
        before = {step_id: self.lease_of(step_id) for step_id in self.leases}
        for lease in self.leases.values():
            for kind in LEASED:
                limit, old_limit = budget.limit(kind), earlier.limit(kind)
                if limit is None:
                    lease.lift(kind)
                elif old_limit is None:
                    lease.call_to_account(kind)
                elif kind in lease.denied and self.has_left(kind, spent):
                    lease.grant(kind, lease.holds(kind) + self._share(kind, spent, len(self.leases)))
                elif limit < old_limit and not self.has_left(kind, spent):
                    lease.told[kind] = amount(lease.usage, kind)
        after = {step_id: self.lease_of(step_id) for step_id in self.leases}
        return {step_id: lease or Lease() for step_id, lease in after.items() if lease != before[step_id]}

    def close(self, step_id: str) -> None:
        """A step has ended: what it did not spend is there for others."""
        self.leases.pop(step_id, None)
