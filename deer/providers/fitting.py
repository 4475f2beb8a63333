"""A model that is never told more than it can take."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta

from deer.context import answer_room, fitted, tokens_of_request
from deer.errors import FailureKind, ServiceError
from deer.models import ChatReply
from deer.ports import ChatModel, ChatRequest

LEARNT_FOR = timedelta(hours=1)
"""How long a refusal counts: it may have been a mistake, and endpoints change. Then it costs one refusal again."""

_SHARES = (0.25, 0.4, 0.6, 0.8, 0.95)
"""A request that was refused as too long goes out at a quarter, if it can be told in so few words, else at more."""


class FittedModel:
    """A `ChatModel` in front of another one, which shortens requests to a token limit.

    `token_limit` is for request and answer together; part of it is left to the answer, more than usual where requests
    allow it `answer_tokens`. An endpoint that finds a request too long all the same is asked once more: within the
    limit that it names, else in far fewer words. Requests of the next hour stay within that limit, else at half of what
    was refused, where they can. `clock` gives seconds.
    """

    def __init__(
        self,
        model: ChatModel,
        token_limit: int,
        answer_tokens: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._answer_tokens = answer_tokens
        self._room = self._room_within(token_limit)
        self._clock = clock
        self._learnt_room = self._room
        self._learnt_until = clock()

    async def complete(self, request: ChatRequest) -> ChatReply:
        sent = self._fitted(request)
        try:
            return await self._model.complete(sent)
        except ServiceError as error:
            if error.kind is not FailureKind.TOO_LONG:
                raise
            shorter = self._shorter(request, tokens_of_request(sent), error.token_limit)
            if shorter is None:
                raise
        return await self._model.complete(shorter)

    def _fitted(self, request: ChatRequest) -> ChatRequest:
        if self._clock() < self._learnt_until:
            with suppress(ServiceError):  # what was learnt may be less than what must be said
                return fitted(request, self._learnt_room)
        return fitted(request, self._room)

    def _shorter(self, request: ChatRequest, refused_tokens: int, named_limit: int | None) -> ChatRequest | None:
        """The request in fewer words than were refused, from which later ones learn; None when it has no fewer."""
        self._learnt_until = self._clock() + LEARNT_FOR.total_seconds()
        room = self._room_within(named_limit or 0)
        if 0 < room < refused_tokens and (within := _first_that_fits(request, [room])) is not None:
            self._learnt_room = room
            return within
        self._learnt_room = refused_tokens // 2
        return _first_that_fits(request, [int(refused_tokens * share) for share in _SHARES])

    def _room_within(self, token_limit: int) -> int:
        return token_limit - answer_room(token_limit, self._answer_tokens)


def _first_that_fits(request: ChatRequest, rooms: Iterable[int]) -> ChatRequest | None:
    for room in rooms:
        with suppress(ServiceError):
            return fitted(request, room)
    return None
