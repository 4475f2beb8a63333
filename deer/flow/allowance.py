"""A step's side of its lease: whether it may make a call, and what it has to ask for."""

from collections.abc import Sequence

from deer.flow.ledger import amount
from deer.models import Kind, Lease, Usage


class Allowance:
    """What a step may still spend, as far as it was told. Without a lease there is no limit.

    Searches and pages are counted from the moment they are begun, so that calls of one turn cannot pass the limit
    together; what a model call takes is known only when it has ended.
    """

    def __init__(self, lease: Lease | None) -> None:
        self._lease = lease or Lease()
        self._in_flight = {Kind.SEARCHES: 0, Kind.PAGES: 0}
        self.wants: dict[Kind, float] = {}
        """What the step waits for: each kind with the total that it knew when it asked."""

    @property
    def counts_usd(self) -> bool:
        """Whether money is limited."""
        return Kind.USD in self._lease.granted

    def take(self, lease: Lease) -> bool:
        """Take over new totals. Whatever they answer is waited for no more.

        Returns whether whoever gave them has to hear at once what was spent: of a kind that had no limit before.
        """
        new = [kind for kind in lease.granted if kind not in self._lease.granted]
        for kind, known in tuple(self.wants.items()):
            if kind in lease.denied or lease.granted.get(kind, known + 1) > known:
                del self.wants[kind]
        self._lease = lease
        return self.ask(new)

    def spent(self, usage: Usage) -> Usage:
        """What the step has spent, calls in flight counted."""
        return usage + Usage(searches=self._in_flight[Kind.SEARCHES], pages=self._in_flight[Kind.PAGES])

    def begin(self, kinds: Sequence[Kind]) -> None:
        """A call of these kinds is made."""
        for kind in self._in_flight.keys() & set(kinds):
            self._in_flight[kind] += 1

    def end(self, kinds: Sequence[Kind]) -> None:
        """A call has ended; from now on the usage has it, if it cost anything."""
        for kind in self._in_flight.keys() & set(kinds):
            self._in_flight[kind] -= 1

    def lacking(self, usage: Usage, kinds: Sequence[Kind]) -> tuple[Kind, ...]:
        """Those of the kinds of which nothing is left for another call."""
        spent = self.spent(usage)
        granted = self._lease.granted
        return tuple(kind for kind in kinds if kind in granted and amount(spent, kind) >= granted[kind])

    def refusal(self, kinds: Sequence[Kind]) -> str | None:
        """Why there is no more of one of the kinds; None as long as more can be asked for."""
        return next((self._lease.denied[kind] for kind in kinds if kind in self._lease.denied), None)

    def ask(self, kinds: Sequence[Kind]) -> bool:
        """Wait for more of these kinds; whether that is news to whoever gives it."""
        news = [kind for kind in kinds if kind not in self.wants]
        self.wants |= {kind: self._lease.granted[kind] for kind in news}
        return bool(news)
