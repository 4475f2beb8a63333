"""Several search engines as one."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from deer.errors import FailureKind, ServiceError
from deer.models import Hit
from deer.ports import SearchQuery, SearchResults
from deer.providers.engines.fallback import PASSED_ON_WITHIN, RESTS_AFTER_REFUSAL, RESTS_AFTER_TROUBLE, WebSearch
from deer.providers.engines.results import SearchRules

QUERY = SearchQuery(text="x", max_results=5)

Outcome = ServiceError | Sequence[str]


def failing(kind: FailureKind, words: str = "is broken", wait: int | None = None) -> ServiceError:
    passes = kind in (FailureKind.UNAVAILABLE, FailureKind.RATE_LIMITED)
    return ServiceError(words, kind, retryable=passes, retry_after=timedelta(seconds=wait) if wait else None)


DOWN = failing(FailureKind.UNAVAILABLE, "A is down")
SPENT = failing(FailureKind.QUOTA_SPENT, "A has no credit left")


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Engine:
    """An engine that finds addresses or fails, one outcome after the other; the last one is repeated."""

    def __init__(self, *outcomes: Outcome, clock: Clock | None = None, seconds: float = 0.0) -> None:
        self._outcomes = list(outcomes)
        self._clock = clock
        self._seconds = seconds
        self.queries: list[SearchQuery] = []

    async def search(self, query: SearchQuery) -> SearchResults:
        self.queries.append(query)
        if self._clock is not None:
            self._clock.now += self._seconds
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, ServiceError):
            raise outcome
        return SearchResults(hits=tuple(Hit(url=url, title="T", content="C") for url in outcome))


def search_with(a: Engine, b: Engine, clock: Clock | None = None, rules: SearchRules | None = None) -> WebSearch:
    return WebSearch([("a", a), ("b", b)], rules, clock or Clock())


@pytest.mark.parametrize("kind", [FailureKind.QUOTA_SPENT, FailureKind.UNAVAILABLE, FailureKind.REJECTED])
async def test_the_next_engine_answers_with_a_notice(kind: FailureKind) -> None:
    """Whatever the first engine fails of, the second answers, and the reader is told why."""
    results = await search_with(Engine(failing(kind, "A says no")), Engine(["https://b.test/"])).search(QUERY)
    assert [hit.url for hit in results.hits] == ["https://b.test/"]
    assert results.notices == ("Searched with b in place of another engine (A says no).",)


async def test_notices_are_in_the_language_of_the_run() -> None:
    """The notice of a run in Chinese is in Chinese."""
    search = search_with(Engine(DOWN), Engine(["https://b.test/"]))
    results = await search.search(QUERY.model_copy(update={"locale": "zh-CN"}))
    assert results.notices == ("改用 b 搜索（A is down）。",)


async def test_the_first_engine_answers_alone() -> None:
    """As long as it answers, no other engine is asked and nothing is told."""
    second = Engine(["https://b.test/"])
    results = await search_with(Engine(["https://a.test/"]), second).search(QUERY)
    assert (len(results.hits), results.notices, second.queries) == (1, (), [])


async def test_an_engine_that_finds_nothing_has_the_next_one_asked() -> None:
    """Nothing in one engine may be something in another; nothing in any is an answer, not a failure."""
    results = await search_with(Engine([]), Engine(["https://b.test/"])).search(QUERY)
    assert (len(results.hits), results.notices) == (1, ())
    results = await search_with(Engine([]), Engine([])).search(QUERY)
    assert results == SearchResults(hits=())
    results = await search_with(Engine([]), Engine(failing(FailureKind.UNAVAILABLE))).search(QUERY)
    assert results == SearchResults(hits=())


async def test_all_down_is_a_failed_search() -> None:
    """When every engine fails the search fails with every reason; it may be retried if one of them may pass."""
    search = search_with(Engine(SPENT), Engine(failing(FailureKind.RATE_LIMITED, "B is busy", wait=7)))
    with pytest.raises(
        ServiceError, match="none of 2 search engines answers: A has no credit left; B is busy"
    ) as caught:
        await search.search(QUERY)
    assert (caught.value.kind, caught.value.retryable) == (FailureKind.RATE_LIMITED, True)
    assert caught.value.retry_after == timedelta(seconds=7)


async def test_only_what_nothing_else_can_help_is_for_a_person() -> None:
    """Refused for good by all, a search waits for a person, and asks all again when one has said so."""
    a, b = Engine(SPENT, ["https://a.test/"]), Engine(failing(FailureKind.KEY_REFUSED, "B refused the key"))
    search = search_with(a, b)
    with pytest.raises(ServiceError) as caught:
        await search.search(QUERY)
    assert (caught.value.kind, caught.value.retryable) == (FailureKind.QUOTA_SPENT, False)
    assert len((await search.search(QUERY)).hits) == 1


async def test_a_refusing_engine_is_spared_by_all_searches_for_a_while() -> None:
    """An engine without credit is not asked again for minutes; each search still tells who answered in its place."""
    clock = Clock()
    first = Engine(SPENT, ["https://a.test/"])
    search = search_with(first, Engine(["https://b.test/"]), clock)
    notices = {(await search.search(QUERY)).notices for _ in range(3)}
    assert len(first.queries) == 1
    assert notices == {("Searched with b in place of another engine (A has no credit left).",)}
    clock.now += RESTS_AFTER_REFUSAL.total_seconds()
    results = await search.search(QUERY)
    assert ([hit.url for hit in results.hits], results.notices) == (["https://a.test/"], ())


async def test_a_retry_spares_what_refused_for_good() -> None:
    """Tried again, a search asks only the engine whose trouble may have passed."""
    a, b = Engine(SPENT), Engine(failing(FailureKind.UNAVAILABLE), ["https://b.test/"])
    search = search_with(a, b)
    with pytest.raises(ServiceError):
        await search.search(QUERY)
    assert len((await search.search(QUERY)).hits) == 1
    assert (len(a.queries), len(b.queries)) == (1, 2)


async def test_an_engine_rests_as_long_as_it_asked() -> None:
    """A Retry-After beyond the usual rest holds for the next searches too; a bad query rests nobody."""
    clock = Clock()
    first = Engine(failing(FailureKind.RATE_LIMITED, wait=60), failing(FailureKind.REJECTED), ["https://a.test/"])
    search = search_with(first, Engine(["https://b.test/"]), clock)
    await search.search(QUERY)
    clock.now += RESTS_AFTER_TROUBLE.total_seconds() + 1
    await search.search(QUERY)
    assert len(first.queries) == 1
    clock.now += 60
    await search.search(QUERY)
    assert [hit.url for hit in (await search.search(QUERY)).hits] == ["https://a.test/"]


async def test_an_old_attempt_leaves_the_next_engine_to_the_next_attempt() -> None:
    """An attempt that a slow engine has used up fails in time; the next one begins with the other engine."""
    clock = Clock()
    slow = Engine(DOWN, clock=clock, seconds=PASSED_ON_WITHIN.total_seconds())
    search = search_with(slow, Engine(["https://b.test/"]), clock)
    with pytest.raises(ServiceError, match="A is down"):
        await search.search(QUERY)
    clock.now += 1
    assert len((await search.search(QUERY)).hits) == 1
    assert len(slow.queries) == 1


async def test_the_only_engine_fails_in_its_own_words() -> None:
    """With one engine its failure is the search's."""
    with pytest.raises(ServiceError) as caught:
        await WebSearch([("a", Engine(SPENT))]).search(QUERY)
    assert caught.value is SPENT


async def test_rules_of_the_deployment_hold_for_every_engine() -> None:
    """Domains, age and depth of the settings reach the engine; a run's own domains win over the deployment's."""
    engine = Engine(["https://www.a.org/1", "https://sub.b.org/2", "https://xa.org/3", "https://[broken/4"])
    rules = SearchRules(
        allowed_domains=("a.org", "b.org"), denied_domains=("sub.b.org",), time_range="week", depth="basic"
    )
    search = WebSearch([("a", engine)], rules)
    assert [hit.url for hit in (await search.search(QUERY)).hits] == ["https://www.a.org/1"]
    sent = engine.queries[0]
    assert (sent.allowed_domains, sent.denied_domains) == (("a.org", "b.org"), ("sub.b.org",))
    assert (sent.time_range, sent.depth) == ("week", "basic")
    of_run = QUERY.model_copy(update={"allowed_domains": ("xa.org",), "denied_domains": ("c.org",)})
    assert [hit.url for hit in (await search.search(of_run)).hits] == ["https://xa.org/3"]
    assert engine.queries[1].denied_domains == ("c.org", "sub.b.org")


async def test_no_more_hits_than_asked_for() -> None:
    """An engine that gives more than it was asked for is cut."""
    engine = Engine([f"https://a.test/{n}" for n in range(9)])
    assert len((await WebSearch([("a", engine)]).search(QUERY)).hits) == 5
