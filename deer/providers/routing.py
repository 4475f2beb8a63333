"""Which model answers which role."""

from collections.abc import Mapping

from deer.models import ChatReply, Role
from deer.ports import ChatModel, ChatRequest


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
