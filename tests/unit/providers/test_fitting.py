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

    def __init__(self, takes: int) -> None:
        self.sizes: list[int] = []
        self._takes = takes

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.sizes.append(tokens_of_request(request))
        if self.sizes[-1] > self._takes:
            raise ServiceError("too long", FailureKind.TOO_LONG)
        return ChatReply(content="Yes.")


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


async def test_what_was_learnt_never_forbids_what_must_be_said() -> None:
    """When half of a refused request is less than prompt and question, the limit of the settings counts."""
    endpoint = Endpoint(takes=10)
    model = FittedModel(endpoint, 128_000)
    for calls in (1, 2):
        with pytest.raises(ServiceError, match="too long"):
            await model.complete(long_request(0))
        assert len(endpoint.sizes) == calls
