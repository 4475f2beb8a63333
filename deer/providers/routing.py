"""Which model answers which role."""

from collections.abc import Mapping

from deer.models import ChatReply, Role
from deer.ports import ChatModel, ChatRequest


class RoleModels:
    """A `ChatModel` that hands each request to the model of its role, or to `default` where a role has none."""

    def __init__(self, default: ChatModel, by_role: Mapping[Role, ChatModel]) -> None:
        self._default = default
        self._by_role = dict(by_role)

    async def complete(self, request: ChatRequest) -> ChatReply:
        return await self._by_role.get(request.role, self._default).complete(request)
