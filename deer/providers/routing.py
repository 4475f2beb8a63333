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
    share is spent, or as often as its failure is worth. A model that refuses for good is passed over at once, within
    the attempt. When all have refused for good that is the answer, with every reason; it is one for a person if a
    person can mend any of them, and so is the end of the last attempt.
    """

    def __init__(self, models: Sequence[tuple[str, ChatModel]]) -> None:
        self._models = tuple(models)
        self._for_a_person: dict[int, ServiceError] = {}
        """By position, the last refusal that only a person can mend: the attempts of a call do not meet otherwise."""

    async def complete(self, request: ChatRequest) -> ChatReply:
        if len(self._models) == 1:
            return await self._models[0][1].complete(request)
        first = self._owner_of(request.attempt, request)
        reasons = [
            f"{name}: {self._for_a_person.get(at, 'no answer in its share of the attempts')}"
            for at, (name, _) in enumerate(self._models[:first])
        ]
        refusals: list[ServiceError] = []
        for at in (*range(first, len(self._models)), *range(first)):
            name, model = self._models[at]
            try:
                reply = await model.complete(request)
            except ServiceError as error:
                reasons.append(f"{name}: {error}")
                self._remember(at, error)
                if self._may_be_asked_again(error, at, request):
                    if request.attempt >= request.attempts and self._for_a_person:
                        raise self._refused(tuple(self._for_a_person.values()), reasons) from None
                    raise self._to_be_retried(error, reasons, request) from None
                refusals.append(error)
            else:
                self._for_a_person.pop(at, None)
                return _told(reply, name, reasons, request)
        raise self._refused(refusals, reasons)

    def _remember(self, at: int, error: ServiceError) -> None:
        if error.kind in NEEDS_A_PERSON:
            self._for_a_person[at] = error
        else:
            self._for_a_person.pop(at, None)

    def _owner_of(self, attempt: int, request: ChatRequest) -> int:
        """The position of the model that an attempt, counted from 1, belongs to."""
        return min((attempt - 1) * len(self._models) // request.attempts, len(self._models) - 1)

    def _may_be_asked_again(self, error: ServiceError, at: int, request: ChatRequest) -> bool:
        if error.max_attempts is None or not error.retryable:
            return error.retryable
        earlier = [number for number in range(1, request.attempt) if self._owner_of(number, request) == at]
        is_owner = self._owner_of(request.attempt, request) == at
        # Who was passed on to was so in every attempt before, as far as can be told: its answers are paid for too.
        return (len(earlier) + 1 if is_owner else request.attempt) < error.max_attempts

    def _to_be_retried(self, error: ServiceError, reasons: Sequence[str], request: ChatRequest) -> ServiceError:
        """The failure of a model that may answer later; its wish to be left alone does not bind the next one."""
        stays = self._owner_of(request.attempt, request) == self._owner_of(request.attempt + 1, request)
        wait = error.retry_after if stays else None
        return ServiceError("; ".join(reasons), error.kind, retryable=True, retry_after=wait)

    def _refused(self, refusals: Sequence[ServiceError], reasons: Sequence[str]) -> ServiceError:
        for_a_person = [error for error in refusals if error.kind in NEEDS_A_PERSON]
        kind = (for_a_person or refusals)[0].kind
        return ServiceError(f"none of {len(self._models)} models answers: {'; '.join(reasons)}", kind)


def _told(reply: ChatReply, name: str, reasons: Sequence[str], request: ChatRequest) -> ChatReply:
    if not reasons:
        return reply
    words = "; ".join(reasons)
    notice = word("model_passed_over", request.brief.locale, role=request.role, name=name, reason=words)
    return reply.model_copy(update={"notices": (*reply.notices, notice)})
