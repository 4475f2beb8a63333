"""A model that is never told more than it can take."""

from contextlib import suppress

from deer.context import answer_room, fitted, tokens_of_request
from deer.errors import FailureKind, ServiceError
from deer.models import ChatReply
from deer.ports import ChatModel, ChatRequest

_SHARES = (0.25, 0.4, 0.6, 0.8, 0.95)
"""A request that was refused as too long goes out at a quarter, if it can be told in so few words, else at more."""


class FittedModel:
    """A `ChatModel` in front of another one, which shortens requests to a token limit.

    `token_limit` is for request and answer together; part of it is left to the answer, more than usual where requests
    allow it `answer_tokens`. An endpoint that finds a request
    too long all the same is asked once more, in far fewer words; and later requests stay at half of what was refused,
    where they can.
    """

    def __init__(self, model: ChatModel, token_limit: int, answer_tokens: int | None = None) -> None:
        self._model = model
        self._room = token_limit - answer_room(token_limit, answer_tokens)
        self._taken = self._room  # so many tokens at most, as far as refusals have told

    async def complete(self, request: ChatRequest) -> ChatReply:
        sent = self._fitted(request)
        try:
            return await self._model.complete(sent)
        except ServiceError as error:
            if error.kind is not FailureKind.TOO_LONG:
                raise
            size = tokens_of_request(sent)
            self._taken = min(self._taken, size // 2)
            shorter = _in_far_fewer_words(request, size)
            if shorter is None:
                raise
        return await self._model.complete(shorter)

    def _fitted(self, request: ChatRequest) -> ChatRequest:
        with suppress(ServiceError):  # half of what was refused may be less than what must be said
            return fitted(request, self._taken)
        return fitted(request, self._room)


def _in_far_fewer_words(request: ChatRequest, refused_tokens: int) -> ChatRequest | None:
    for share in _SHARES:
        with suppress(ServiceError):
            return fitted(request, int(refused_tokens * share))
    return None
