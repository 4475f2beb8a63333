"""What the scripted services were asked: one `Call` a request, in order of arrival."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = dict[str, Any]  # what a client posts has no closed type


class Kind(StrEnum):
    """Which service was asked."""

    MODEL = "model"
    SEARCH = "search"
    PAGE = "page"


@dataclass(eq=False)
class Call:
    """One request as it arrived.

    `started` and `finished` are seconds of the monotonic clock; `finished` None: no answer was sent (yet).
    `nth` counts from 1 within the role of a model call, or within the kind. `role` is empty but for model calls.
    """

    kind: Kind
    nth: int
    role: str = ""
    path: str = ""
    body: Json = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    finished: float | None = None
    status: int | None = None

    @property
    def key(self) -> str:
        """The same for two requests that ask the same."""
        asked = [self.kind, self.path, {k: v for k, v in self.body.items() if k != "stream"}]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    @property
    def messages(self) -> list[Json]:
        """The conversation of a model call."""
        return list(self.body.get("messages") or [])

    @property
    def tools(self) -> list[str]:
        """Names of the tools that a model call offers."""
        return [tool["function"]["name"] for tool in self.body.get("tools") or []]

    @property
    def text(self) -> str:
        """All that a model call says, roles and tool arguments aside."""
        return "\n".join(content_of(message) for message in self.messages)

    @property
    def wording(self) -> str:
        """Everything that was sent: the address, and the body as JSON."""
        return f"{self.path} {json.dumps(self.body, ensure_ascii=False)}"

    @property
    def rounds(self) -> int:
        """How many times the model had called tools before this call."""
        return sum(1 for message in self.messages if message.get("tool_calls"))

    @property
    def was_answered(self) -> bool:
        """Whether the whole answer was handed to the connection, and was no failure."""
        return self.finished is not None and self.status is not None and self.status < 400


def content_of(message: Json) -> str:
    """The text of a message, whose content may be a string, parts or null."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content)


class CallLog:
    """Every call so far."""

    def __init__(self) -> None:
        self._calls: list[Call] = []

    def __len__(self) -> int:
        return len(self._calls)

    def clear(self) -> None:
        """Forget what was asked so far."""
        self._calls.clear()

    def add(self, call: Call) -> None:
        """Note a call that arrived."""
        self._calls.append(call)

    def calls(self, of: str = "", where: Callable[[Call], bool] = lambda call: True) -> list[Call]:
        """The calls of a kind or a model role (empty: all) for which `where` holds."""
        return [c for c in list(self._calls) if of in ("", c.kind, c.role) and where(c)]

    def count(self, of: str = "") -> int:
        """How many calls of a kind or role there were."""
        return len(self.calls(of))

    def answered(self, of: str = "") -> list[Call]:
        """The calls that got their whole answer."""
        return self.calls(of, lambda call: call.was_answered)

    def open(self) -> list[Call]:
        """The calls that wait for an answer."""
        return self.calls("", lambda call: call.finished is None)

    def text(self, of: str = "") -> str:
        """What all calls of a kind or role said, for `in` and `not in`."""
        return json.dumps([call.body for call in self.calls(of)], ensure_ascii=False)


def most_at_once(calls: Sequence[Call]) -> int:
    """The largest number of these calls that were open at the same moment."""
    now = time.monotonic()
    spans = [(call.started, now if call.finished is None else call.finished) for call in calls]
    return max((sum(1 for a, b in spans if a <= start < b) for start, _ in spans), default=0)
