"""Which model answers which role."""

from datetime import date

import pytest

from deer.models import ChatMessage, ChatReply, CoordinatorBrief, Role, Speaker
from deer.ports import ChatRequest
from deer.providers.routing import RoleModels

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
