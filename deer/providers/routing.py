"""Which model answers which role, and who answers in its place."""

from collections.abc import Mapping, Sequence

from deer.errors import NEEDS_A_PERSON, ServiceError
from deer.models import ChatReply, Role
from deer.ports import ChatModel, ChatRequest
from deer.wording import word


class RoleModels:
    """A `ChatModel` that hands each request to the model of its role.

    `deep` has the roles that another model answers when deep thinking was asked for.
    """

    def __init__(self, by_role: Mapping[Role, ChatModel], deep: Mapping[Role, ChatModel]) -> None:
        self._by_role = dict(by_role)
        self._deep = {**by_role, **deep}

    async def complete(self, request: ChatRequest) -> ChatReply:
        models = self._deep if request.thinks_deeply else self._by_role
        return await models[request.role].complete(request)


class FallbackModels:
    """A `ChatModel` that is several, each with the name that messages call it by.

    The attempts of a call are shared out among them in order: a model that may answer later is asked again until its
    share is spent. A model that refuses for good is passed over at once, within the attempt. Only when all have refused
    for good is that the answer, with every reason; it is one for a person if a person can mend any of them.
    """

    def __init__(self, models: Sequence[tuple[str, ChatModel]]) -> None:
        self._models = tuple(models)

    async def complete(self, request: ChatRequest) -> ChatReply:
        first = self._first_for(request.attempt, request.attempts)
        reasons = [f"{name}: no answer in its share of the attempts" for name, _ in self._models[:first]]
        refusals: list[ServiceError] = []
        for name, model in (*self._models[first:], *self._models[:first]):
            try:
                reply = await model.complete(request)
            except ServiceError as error:
                if error.retryable:
                    raise self._to_be_retried(error, request, [*reasons, f"{name}: {error}"]) from None
                refusals.append(error)
                reasons.append(f"{name}: {error}")
            else:
                return self._told(reply, name, reasons, request)
        raise self._refused(refusals, reasons)

    def _first_for(self, attempt: int, attempts: int) -> int:
        """The position of the model that an attempt, counted from 1, belongs to."""
        return min((attempt - 1) * len(self._models) // max(attempts, 1), len(self._models) - 1)

    def _to_be_retried(self, error: ServiceError, request: ChatRequest, reasons: Sequence[str]) -> ServiceError:
        """The failure of a model that may answer later; its wish to be left alone does not bind the next one."""
        here, there = (self._first_for(attempt, request.attempts) for attempt in (request.attempt, request.attempt + 1))
        wait = error.retry_after if here == there else None
        words = "; ".join(reasons) if len(reasons) > 1 else str(error)
        return ServiceError(words, error.kind, retryable=True, retry_after=wait)

    def _refused(self, refusals: Sequence[ServiceError], reasons: Sequence[str]) -> ServiceError:
        if len(self._models) == 1:
            return refusals[0]
        for_a_person = [error for error in refusals if error.kind in NEEDS_A_PERSON]
        kind = (for_a_person or refusals)[0].kind
        return ServiceError(f"none of {len(self._models)} models answers: {'; '.join(reasons)}", kind)

    def _told(self, reply: ChatReply, name: str, reasons: Sequence[str], request: ChatRequest) -> ChatReply:
        if not reasons:
            return reply
        notice = word(
            "model_passed_over", request.brief.locale, role=request.role, name=name, reason="; ".join(reasons)
        )
        return reply.model_copy(update={"notices": (*reply.notices, notice)})
