"""Which model answers which role, and who answers in its place."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from deer.errors import NEEDS_A_PERSON, FailureKind, ServiceError
from deer.models import ChatReply, Role
from deer.ports import ChatModel, ChatRequest
from deer.wording import word

PASSED_ON_WITHIN = timedelta(seconds=30)
"""An attempt older than this asks no further model: together with the longest answer it stays below the ten minutes
that the flow gives an attempt."""

EMPTY_ATTEMPTS = 2
"""An empty answer is paid for like a full one, and a model that gives one tends to give the next."""

MAX_COURSES = 1_000
"""Calls under way that are remembered; the attempts of a forgotten one are presumed to have gone as shared out."""


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

    The attempts of a call are shared out in order: each model is asked once an attempt until its share is spent. One
    that refuses for good, or has failed as often as its failure is worth, is given up by that call, and the next one is
    asked: within the attempt as long as that is young, else in the next. When all are given up that is the answer, with
    every reason; it is one for a person if a person can mend any of them, and so is the end of the last attempt.

    A reply that says nothing is such a failure too, worth `EMPTY_ATTEMPTS`; the role is handed it when no other is to
    be had. `clock` gives seconds.
    """

    def __init__(self, models: Sequence[tuple[str, ChatModel]], clock: Callable[[], float] = time.monotonic) -> None:
        self._models = tuple(models)
        self._clock = clock
        self._courses: dict[str, _Course] = {}

    async def complete(self, request: ChatRequest) -> ChatReply:
        if len(self._models) == 1:
            return await self._models[0][1].complete(request)
        course = self._course_of(request)
        young_until = self._clock() + PASSED_ON_WITHIN.total_seconds()
        while (at := course.whose_turn()) is not None:
            try:
                reply = await self._reply_of(at, request)
            except ServiceError as error:
                course.note(at, error)
                if course.has_given_up(at) and self._clock() < young_until:
                    continue
                following = course.whose_turn()
                if following is None or request.attempt >= request.attempts:
                    break
                # the wish of one model to be left alone does not hold up the next one
                wait = error.retry_after if following == at else None
                raise ServiceError(self._reasons(course), error.kind, retryable=True, retry_after=wait) from None
            self._courses.pop(request.call, None)
            return self._told(reply, at, course, request)
        self._courses.pop(request.call, None)
        return self._end_of(course)

    async def _reply_of(self, at: int, request: ChatRequest) -> ChatReply:
        reply = await self._models[at][1].complete(request)
        if reply.says_nothing and not request.may_be_empty:
            raise _NothingSaid(reply)
        return reply

    def _course_of(self, request: ChatRequest) -> "_Course":
        course = self._courses.pop(request.call, None)
        if course is None or request.attempt == 1:
            course = _Course(len(self._models), request)
        if len(self._courses) >= MAX_COURSES:
            del self._courses[next(iter(self._courses))]
        self._courses[request.call] = course
        return course

    def _end_of(self, course: "_Course") -> ChatReply:
        """What a call ends with that no model has answered: the last empty reply. Raises ServiceError without one."""
        failures = tuple(course.failures.values())
        empty = [failure.reply for failure in failures if isinstance(failure, _NothingSaid)]
        if empty:
            return empty[-1]
        kinds = [failure.kind for failure in failures]
        kind = next((kind for kind in kinds if kind in NEEDS_A_PERSON), kinds[-1])
        raise ServiceError(f"none of {len(self._models)} models answers: {self._reasons(course)}", kind)

    def _reasons(self, course: "_Course", *, besides: int | None = None) -> str:
        """Why each model that had its turn did not answer, save one."""
        named = ((at, name) for at, (name, _) in enumerate(self._models) if course.asked[at] and at != besides)
        return "; ".join(f"{name}: {course.failures.get(at, _PRESUMED)}" for at, name in named)

    def _told(self, reply: ChatReply, at: int, course: "_Course", request: ChatRequest) -> ChatReply:
        reasons = self._reasons(course, besides=at)
        if not reasons:
            return reply
        name = self._models[at][0]
        notice = word("model_passed_over", request.brief.locale, role=request.role, name=name, reason=reasons)
        return reply.model_copy(update={"notices": (*reply.notices, notice)})


class _NothingSaid(ServiceError):
    """A reply without a word or a call. The next one may be better, as long as that is not tried too often."""

    def __init__(self, reply: ChatReply) -> None:
        super().__init__("it wrote nothing", FailureKind.MALFORMED, retryable=True, max_attempts=EMPTY_ATTEMPTS)
        self.reply = reply


_PRESUMED = "no answer in its share of the attempts"


class _Course:
    """How a call has gone so far: how often each model was asked, by position, and how it last failed.

    Attempts before the first one that is noted here, as after a change of worker, are presumed to have gone as they
    were shared out.
    """

    def __init__(self, models: int, request: ChatRequest) -> None:
        owners = [(number * models) // request.attempts for number in range(request.attempts)]
        self._shares = [owners.count(at) for at in range(models)]
        self.asked = [owners[: request.attempt - 1].count(at) for at in range(models)]
        self.failures: dict[int, ServiceError] = {}  # the latest last
        self._paid = [0] * models
        self._given_up: set[int] = set()

    def whose_turn(self) -> int | None:
        """The first model with some of its share left, else the first that is not given up; None for none."""
        standing = [at for at in range(len(self._shares)) if at not in self._given_up]
        fresh = (at for at in standing if self.asked[at] < self._shares[at])
        return next(fresh, standing[0] if standing else None)

    def note(self, at: int, failure: ServiceError) -> None:
        """Take in that a model was asked and failed."""
        self.asked[at] += 1
        self.failures.pop(at, None)
        self.failures[at] = failure
        self._paid[at] += failure.max_attempts is not None
        is_spent = failure.max_attempts is not None and self._paid[at] >= failure.max_attempts
        if is_spent or not failure.retryable:
            self._given_up.add(at)

    def has_given_up(self, at: int) -> bool:
        """Whether a model is not asked again by this call."""
        return at in self._given_up
