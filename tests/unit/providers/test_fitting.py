"""A model is told no more than it takes, and what its endpoint refuses is remembered."""

import pytest

from deer.context import tokens_of_request
from deer.errors import FailureKind, ServiceError
from deer.models import ChatReply, Role
from deer.ports import ChatRequest
from deer.providers.fitting import FittedModel
from tests.unit.context.conversations import request_of, turn
from tests.unit.prompt_briefs import step_brief

BRIEF = step_brief("en-US", Role.RESEARCHER, findings=(), background=())


class Endpoint:
    """A model that takes so many tokens and refuses longer requests; it remembers the sizes."""

    def __init__(self, takes: int, *, names: int | None = None) -> None:
        self.sizes: list[int] = []
        self.takes = takes
        self._names = names

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.sizes.append(tokens_of_request(request))
        if self.sizes[-1] > self.takes:
            raise ServiceError("too long", FailureKind.TOO_LONG, token_limit=self._names)
        return ChatReply(content="Yes.")


class Clock:
    """A clock that a test sets, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def long_request(pages: int) -> ChatRequest:
    """A request with pages of some 3,000 tokens, one a turn."""
    return request_of(BRIEF, Role.RESEARCHER, [turn(number, [10_000]) for number in range(1, pages + 1)])


async def test_requests_stay_within_the_limit_less_the_answer() -> None:
    """Of a limit of 20,000 tokens the request has at most three quarters."""
    endpoint = Endpoint(takes=15_000)
    await FittedModel(endpoint, 20_000).complete(long_request(10))
    assert len(endpoint.sizes) == 1
    assert 10_000 < endpoint.sizes[0] <= 15_000


async def test_what_was_refused_is_asked_once_more_and_remembered() -> None:
    """A refused request goes out at a quarter; later ones stay at half of it without being refused first."""
    endpoint = Endpoint(takes=20_000)
    model = FittedModel(endpoint, 128_000)
    await model.complete(long_request(10))
    refused, shorter = endpoint.sizes
    assert refused > 20_000
    assert shorter <= refused // 4
    await model.complete(long_request(11))
    assert shorter < endpoint.sizes[2] <= refused // 2
    assert len(endpoint.sizes) == 3


async def test_a_limit_that_a_refusal_names_is_kept_to() -> None:
    """The request goes out once more with what the limit leaves to it, and so do later ones."""
    endpoint = Endpoint(takes=20_000, names=20_000)
    model = FittedModel(endpoint, 128_000)
    await model.complete(long_request(10))
    await model.complete(long_request(11))
    refused, *later = endpoint.sizes
    assert refused > 20_000
    assert [10_000 < size <= 15_000 for size in later] == [True, True]


@pytest.mark.parametrize("named", [1, 1_000_000])
async def test_a_limit_that_cannot_be_meant_is_passed_over(named: int) -> None:
    """A number that what was refused keeps to, or that leaves no room for the question, is not what it takes."""
    endpoint = Endpoint(takes=20_000, names=named)
    await FittedModel(endpoint, 128_000).complete(long_request(10))
    refused, shorter = endpoint.sizes
    assert shorter <= refused // 4


async def test_after_an_hour_longer_requests_are_tried_again() -> None:
    """An endpoint that takes more than it did is not told in half the words for the whole life of the process."""
    endpoint, clock = Endpoint(takes=20_000), Clock()
    model = FittedModel(endpoint, 128_000, clock=clock)
    await model.complete(long_request(10))
    endpoint.takes = 100_000
    clock.now = 3_599.0
    await model.complete(long_request(10))
    clock.now = 3_600.0
    await model.complete(long_request(10))
    refused, _, within_the_hour, after_it = endpoint.sizes
    assert within_the_hour <= refused // 2
    assert after_it == refused


async def test_what_was_learnt_never_forbids_what_must_be_said() -> None:
    """When half of a refused request is less than prompt and question, the limit of the settings counts."""
    endpoint = Endpoint(takes=10)
    model = FittedModel(endpoint, 128_000)
    for calls in (1, 2):
        with pytest.raises(ServiceError, match="too long"):
            await model.complete(long_request(0))
        assert len(endpoint.sizes) == calls
