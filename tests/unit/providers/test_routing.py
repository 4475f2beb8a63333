"""Which model answers which role, and which in its place."""

from datetime import date, timedelta

import pytest

from deer.errors import FailureKind, ServiceError
from deer.models import ChatMessage, ChatReply, CoordinatorBrief, Role, Speaker
from deer.ports import ChatModel, ChatRequest
from deer.providers.openai_model import LONGEST_ANSWER
from deer.providers.routing import PASSED_ON_WITHIN, FallbackModels, RoleModels
from workflows.policies import MODEL

BRIEF = CoordinatorBrief(question="q", locale="en-US", today=date(2026, 1, 2), locale_is_fixed=False)


class Named:
    """A model that answers with its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def complete(self, request: ChatRequest) -> ChatReply:
        return ChatReply(content=f"{self._name} as {request.role}")


@pytest.mark.parametrize(
    ("role", "deeply", "name"),
    [
        (Role.ANALYST, False, "small"),
        (Role.REPORTER, False, "big"),
        (Role.PLANNER, False, "small"),
        (Role.PLANNER, True, "big"),
        (Role.REPORTER, True, "big"),
    ],
)
async def test_each_role_is_answered_by_its_model(role: Role, deeply: bool, name: str) -> None:
    """Requests go to the model of their role, and to another where deep thinking has one for it."""
    small, big = Named("small"), Named("big")
    models = RoleModels(dict.fromkeys(Role, small) | {Role.REPORTER: big}, {Role.PLANNER: big})
    hello = ChatMessage(speaker=Speaker.USER, content="Hello")
    reply = await models.complete(ChatRequest(role=role, brief=BRIEF, messages=(hello,), thinks_deeply=deeply))
    assert reply.content == f"{name} as {role}"


class Failing:
    """A model that fails, and counts how often it was asked."""

    def __init__(
        self,
        kind: FailureKind,
        *,
        retryable: bool = False,
        retry_after: timedelta | None = None,
        max_attempts: int | None = None,
    ) -> None:
        self.asked = 0
        self._error = ServiceError(
            f"failed as {kind}", kind, retryable=retryable, retry_after=retry_after, max_attempts=max_attempts
        )

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.asked += 1
        raise self._error


class Empty:
    """A model that gives nothing but a heading, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.asked += 1
        return ChatReply(content="# Report\n")


class Turning:
    """A model that is one for so many turns, and another one from then on."""

    def __init__(self, first: ChatModel, then: ChatModel, turns: int) -> None:
        self._first = first
        self._then = then
        self._left = turns

    async def complete(self, request: ChatRequest) -> ChatReply:
        self._left -= 1
        return await (self._first if self._left >= 0 else self._then).complete(request)


class Clock:
    """A clock that a test sets, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """A model that takes so many seconds before it fails."""

    def __init__(self, model: Failing, clock: Clock, seconds: float) -> None:
        self._model = model
        self._clock = clock
        self._seconds = seconds

    @property
    def asked(self) -> int:
        """How often it was asked."""
        return self._model.asked

    async def complete(self, request: ChatRequest) -> ChatReply:
        self._clock.now += self._seconds
        return await self._model.complete(request)


def unreadable() -> Failing:
    """A model whose answers cannot be read, which is worth three attempts."""
    return Failing(FailureKind.MALFORMED, retryable=True, max_attempts=3)


async def attempts_until_final(models: FallbackModels) -> int:
    """How many attempts a call has that no model answers."""
    for attempt in range(1, 9):
        if not (await refusal(models, attempt)).retryable:
            return attempt
    raise AssertionError("the last attempt is to be tried again")


def call(attempt: int = 1) -> ChatRequest:
    """An attempt, of eight, at a call."""
    hello = ChatMessage(speaker=Speaker.USER, content="Hello")
    return ChatRequest(role=Role.PLANNER, brief=BRIEF, messages=(hello,), attempt=attempt, attempts=8)


async def refusal(models: FallbackModels, attempt: int = 1) -> ServiceError:
    """The failure of a call."""
    with pytest.raises(ServiceError) as failed:
        await models.complete(call(attempt))
    return failed.value


async def test_the_first_model_answers_without_a_word() -> None:
    """As long as it answers, nobody else is asked, and there is nothing to tell."""
    spare = Failing(FailureKind.UNAVAILABLE)
    reply = await FallbackModels([("big", Named("big")), ("spare", spare)]).complete(call())
    assert (reply.content, reply.notices, spare.asked) == ("big as planner", (), 0)


@pytest.mark.parametrize("kind", [FailureKind.KEY_REFUSED, FailureKind.QUOTA_SPENT, FailureKind.REJECTED])
async def test_a_refusal_for_good_is_passed_over_at_once(kind: FailureKind) -> None:
    """What no retry mends costs no attempt: the next model answers, and the reader is told why."""
    reply = await FallbackModels([("big", Failing(kind)), ("small", Named("small"))]).complete(call())
    assert reply.content == "small as planner"
    assert reply.notices == (f"The model small answered the planner in place of another one (big: failed as {kind}).",)


@pytest.mark.parametrize(("count", "shares"), [(2, "00001111"), (3, "00011122"), (4, "00112233"), (9, "01234567")])
async def test_attempts_are_shared_out_in_order(count: int, shares: str) -> None:
    """Of eight attempts each model has its share, the first ones the larger."""
    for attempt, expected in enumerate(shares, 1):
        models = [Failing(FailureKind.UNAVAILABLE, retryable=True) for _ in range(count)]
        failure = await refusal(FallbackModels([(f"m{at}", model) for at, model in enumerate(models)]), attempt)
        assert failure.retryable == (attempt < 8)
        assert [at for at, model in enumerate(models) if model.asked] == [int(expected)]
        assert ("m0: no answer in its share of the attempts" in str(failure)) == (expected != "0")


async def test_a_failure_that_is_worth_few_attempts_is_passed_over_after_them() -> None:
    """Answers that cannot be read are paid for: after three of them the next model is asked, within the attempt."""
    models = FallbackModels([("big", unreadable()), ("small", Named("small"))])
    for attempt in (1, 2):
        failure = await refusal(models, attempt)
        assert failure.retryable
        assert failure.max_attempts is None
    assert (await models.complete(call(3))).content == "small as planner"


async def test_each_model_has_the_attempts_that_its_failure_is_worth() -> None:
    """The second has its three after those of the first, and neither a fourth: the call ends with the fifth attempt."""
    big, small = unreadable(), unreadable()
    assert await attempts_until_final(FallbackModels([("big", big), ("small", small)])) == 5
    assert (big.asked, small.asked) == (3, 3)


async def test_a_model_that_was_passed_on_to_is_not_given_up_for_attempts_of_another() -> None:
    """Who answers unreadably in the third attempt, and was not asked before, is asked again in the fourth."""
    busy, small = Failing(FailureKind.UNAVAILABLE, retryable=True), unreadable()
    big = Turning(busy, Failing(FailureKind.KEY_REFUSED), turns=2)
    models = FallbackModels([("big", big), ("small", small)])
    assert [(await refusal(models, attempt)).retryable for attempt in (1, 2, 3, 4)] == [True] * 4
    assert small.asked == 2
    assert (await refusal(models, 5)).kind is FailureKind.KEY_REFUSED


async def test_who_is_given_up_is_asked_no_more_when_the_next_one_refuses() -> None:
    """Three unreadable answers are all that is paid for, whatever becomes of the other model."""
    big = unreadable()
    away = Turning(Failing(FailureKind.UNAVAILABLE, retryable=True), Failing(FailureKind.REJECTED), turns=3)
    assert await attempts_until_final(FallbackModels([("big", big), ("small", away)])) == 6
    assert big.asked == 3


async def test_calls_beside_each_other_do_not_share_their_failures() -> None:
    """What one call has given up another one asks."""
    models = FallbackModels([("big", Turning(unreadable(), Named("big"), turns=3)), ("small", Named("small"))])
    for attempt in (1, 2):
        await refusal(models, attempt)
    assert (await models.complete(call(3))).content == "small as planner"
    assert (await models.complete(call(1).model_copy(update={"call": "another"}))).content == "big as planner"


@pytest.mark.parametrize(("seconds", "asked"), [(0, 1), (29, 1), (30, 0)])
async def test_an_attempt_that_has_taken_long_asks_no_further_model(seconds: int, asked: int) -> None:
    """After a slow refusal the next model is asked in the next attempt: two long answers would outlast one attempt."""
    clock = Clock()
    small = Failing(FailureKind.UNAVAILABLE, retryable=True)
    big = Slow(Failing(FailureKind.REJECTED), clock, seconds)
    models = FallbackModels([("big", big), ("small", small)], clock=clock)
    assert (await refusal(models, 1)).retryable
    assert small.asked == asked
    await refusal(models, 2)
    assert (big.asked, small.asked) == (1, asked + 1)


def test_an_attempt_is_long_enough_for_the_answer_after_a_refusal() -> None:
    """The flow gives an attempt more time than passing on and the longest answer take together."""
    limit = MODEL["start_to_close_timeout"]
    assert limit is not None
    assert limit > PASSED_ON_WITHIN + LONGEST_ANSWER


async def test_a_slow_refusal_of_the_last_model_ends_the_call() -> None:
    """When nobody is left there is nothing to wait for."""
    clock = Clock()
    models = [(name, Slow(Failing(FailureKind.REJECTED), clock, 20)) for name in ("big", "small")]
    assert not (await refusal(FallbackModels(models, clock=clock), 1)).retryable


async def test_a_reply_that_says_nothing_is_asked_for_once_more_and_then_of_the_next_model() -> None:
    """A heading alone is no report: the first model has two attempts, and the next one answers in the second."""
    big = Empty()
    models = FallbackModels([("big", big), ("small", Named("small"))])
    assert "it wrote nothing" in str(await refusal(models, 1))
    reply = await models.complete(call(2))
    assert (reply.content, big.asked) == ("small as planner", 2)
    assert reply.notices == ("The model small answered the planner in place of another one (big: it wrote nothing).",)


@pytest.mark.parametrize("kind", [FailureKind.REJECTED, FailureKind.KEY_REFUSED])
async def test_an_empty_reply_is_handed_over_when_no_other_is_to_be_had(kind: FailureKind) -> None:
    """What a role makes of nothing it can make then, rather than that the run fails or waits for a person."""
    models = FallbackModels([("big", Empty()), ("small", Failing(kind))])
    await refusal(models, 1)
    assert (await models.complete(call(2))).content == "# Report\n"


async def test_an_empty_reply_may_be_an_answer() -> None:
    """Where a request says so, and where there is one model only, it is handed over at once."""
    models = FallbackModels([("big", Empty()), ("small", Named("small"))])
    assert (await models.complete(call().model_copy(update={"may_be_empty": True}))).content == "# Report\n"
    assert (await FallbackModels([("big", Empty())]).complete(call())).content == "# Report\n"


async def test_a_model_alone_fails_in_its_own_words() -> None:
    """Without a fallback the failure is the model's own, with all that it asks for."""
    failure = await refusal(FallbackModels([("big", unreadable())]), 5)
    assert (str(failure), failure.max_attempts) == ("failed as Malformed", 3)


async def test_the_wish_of_one_model_does_not_hold_up_the_next() -> None:
    """Retry-After is kept between attempts at one model, not before the first attempt at another."""
    busy = Failing(FailureKind.RATE_LIMITED, retryable=True, retry_after=timedelta(seconds=90))
    models = FallbackModels([("big", busy), ("small", Named("small"))])
    assert (await refusal(models, 3)).retry_after == timedelta(seconds=90)
    assert (await refusal(models, 4)).retry_after is None
    assert (await models.complete(call(5))).content == "small as planner"


async def test_a_refusing_fallback_does_not_end_what_the_first_may_still_answer() -> None:
    """Past its share a busy model is asked again before all count as refused: the call is tried on."""
    busy = Failing(FailureKind.UNAVAILABLE, retryable=True)
    failure = await refusal(FallbackModels([("big", busy), ("small", Failing(FailureKind.KEY_REFUSED))]), 6)
    assert failure.retryable
    assert "big: failed as Unavailable; small: failed as KeyRefused" in str(failure)


async def test_when_all_refuse_a_person_reads_every_reason() -> None:
    """One line has all the reasons; it is for a person if a person can mend any of them."""
    models = [("big", Failing(FailureKind.REJECTED)), ("small", Failing(FailureKind.QUOTA_SPENT))]
    failure = await refusal(FallbackModels(models))
    assert failure.kind is FailureKind.QUOTA_SPENT
    assert not failure.retryable
    assert str(failure) == "none of 2 models answers: big: failed as Rejected; small: failed as QuotaSpent"


@pytest.mark.parametrize("kind", [FailureKind.KEY_REFUSED, FailureKind.QUOTA_SPENT, FailureKind.UNKNOWN_MODEL])
async def test_a_bad_day_of_the_next_model_does_not_hide_what_a_person_can_mend(kind: FailureKind) -> None:
    """A refused key is what a call ends with when the model in its place stays away through the last attempt."""
    away = Failing(FailureKind.UNAVAILABLE, retryable=True)
    models = FallbackModels([("big", Failing(kind)), ("small", away)])
    assert (await refusal(models, 1)).retryable
    last = await refusal(models, 8)
    assert (last.kind, last.retryable) == (kind, False)
    assert f"big: failed as {kind}" in str(last)
    assert "small: failed as Unavailable" in str(last)
