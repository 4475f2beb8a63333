"""Several search engines as one: the next answers when one cannot."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from deer.errors import NEEDS_A_PERSON, FailureKind, ServiceError
from deer.ports import SearchEngine, SearchQuery, SearchResults
from deer.providers.engines.results import SearchRules
from deer.wording import word

ALONE_TIMEOUT = timedelta(seconds=60)
"""How long the only engine may take: Tavily itself allows two minutes, the flow 90 s for an attempt."""
SHARED_TIMEOUT = timedelta(seconds=25)
"""How long one of several may take."""
PASSED_ON_WITHIN = timedelta(seconds=40)
"""An attempt older than this asks no further engine: together with a wait for its turn and its whole time, that stays
below the 90 s of the flow."""

RESTS_AFTER_TROUBLE = timedelta(seconds=20)
RESTS_AFTER_REFUSAL = timedelta(minutes=5)
"""How long an engine is passed over that refused for good: its key or its plan has to be mended by a person."""

_ABOUT_THE_QUERY = frozenset({FailureKind.REJECTED, FailureKind.TOO_LONG})
"""What says nothing about the next search."""


@dataclass(frozen=True)
class _Rest:
    until: float
    failure: ServiceError


class WebSearch:
    """Implements `deer.ports.SearchEngine` with engines in order of fallback, each with the name that notices use.

    An engine that fails is passed over for a while by all runs of the worker, and a notice tells who answered in its
    place. An engine that finds nothing has the next one asked. When all that were asked fail, the search fails with
    every reason: retryable if any of them may pass. `clock` gives seconds.
    """

    def __init__(
        self,
        engines: Sequence[tuple[str, SearchEngine]],
        rules: SearchRules | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engines = dict(engines)
        self._rules = rules or SearchRules()
        self._clock = clock
        self._resting: dict[str, _Rest] = {}

    async def search(self, query: SearchQuery) -> SearchResults:
        wanted = self._rules.applied_to(query)
        asked = self._whose_turn()
        failures = {name: self._resting[name].failure for name in self._engines if name not in asked}
        nothing: SearchResults | None = None
        young_until = self._clock() + PASSED_ON_WITHIN.total_seconds()
        for name in asked:
            if self._clock() >= young_until:
                break
            try:
                results = await self._engines[name].search(wanted)
            except ServiceError as error:
                self._rest(name, error)
                failures[name] = error
                continue
            self._resting.pop(name, None)
            hits = self._rules.kept(results.hits, wanted)
            if hits:
                return SearchResults(hits=hits, notices=(*results.notices, *self._told(name, failures, query)))
            nothing = nothing or SearchResults(hits=(), notices=(*results.notices, *self._told(name, failures, query)))
        if nothing is not None:
            return nothing
        raise _failure([failures[name] for name in self._engines if name in failures])

    def _whose_turn(self) -> tuple[str, ...]:
        """Those that do not rest; else those whose trouble may have passed; else all, since a person may have helped.

        A search that is tried again finds all engines at rest, and spares those that refused for good.
        """
        now = self._clock()
        resting = {name for name, rest in self._resting.items() if rest.until > now}
        fresh = tuple(name for name in self._engines if name not in resting)
        if fresh:
            return fresh
        passing = tuple(name for name in self._engines if self._resting[name].failure.retryable)
        return passing or tuple(self._engines)

    def _rest(self, name: str, failure: ServiceError) -> None:
        if failure.kind in _ABOUT_THE_QUERY:
            return
        if failure.kind in NEEDS_A_PERSON:
            length = RESTS_AFTER_REFUSAL
        else:
            length = max(failure.retry_after or timedelta(0), RESTS_AFTER_TROUBLE)
        self._resting[name] = _Rest(self._clock() + length.total_seconds(), failure)

    def _told(self, name: str, failures: dict[str, ServiceError], query: SearchQuery) -> Iterable[str]:
        before = [failures[other] for other in self._engines if other in failures]
        if not before:
            return ()
        return (word("engine_passed_over", query.locale, name=name, reason="; ".join(map(str, before))),)


def _failure(failures: Sequence[ServiceError]) -> ServiceError:
    """The failures of all engines as one: for a person only if nothing can help but a person."""
    if len(failures) == 1:
        return failures[0]
    passing = [failure for failure in failures if failure.retryable]
    kinds = [failure.kind for failure in passing or failures]
    kind = next((kind for kind in kinds if kind in NEEDS_A_PERSON), kinds[-1])
    waits = [failure.retry_after for failure in passing]
    reasons = "; ".join(map(str, failures))
    return ServiceError(
        f"none of {len(failures)} search engines answers: {reasons}",
        kind,
        retryable=bool(passing),
        retry_after=min((wait for wait in waits if wait), default=None) if all(waits) else None,
    )
