"""What is said to a model and what comes back, in no endpoint's dialect."""

import json
from enum import StrEnum
from typing import Any

from deer.models.run import Usage
from deer.models.texts import Model


class Speaker(StrEnum):
    """Who said a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class RawToolCall(Model):
    """A tool call as the model wrote it: `arguments` should be JSON and may be anything."""

    id: str
    name: str
    arguments: str


class SealedThoughts(Model):
    """What an endpoint gives beside tool calls to have it back with their results, unchanged; nobody else reads it.

    `sealed_by`: the endpoint and model, since others refuse it. `message`: fields of the message with the calls.
    `calls`: fields of each call, in the order of the calls. Both are JSON of the endpoint's own making.
    """

    sealed_by: str
    message: dict[str, Any]  # JSON of the endpoint's own making
    calls: tuple[dict[str, Any], ...]  # as above

    @property
    def message_text(self) -> str:
        """The fields of the message as text, empty for none."""
        return json.dumps(self.message, ensure_ascii=False) if self.message else ""

    @property
    def call_text(self) -> str:
        """The fields of the calls as text, empty for none."""
        return json.dumps(self.calls, ensure_ascii=False) if any(self.calls) else ""


class ChatMessage(Model):
    """One message of a conversation. `call_id` is set on a tool's reply, `calls` on an assistant's message.

    `reasoning` is what the model thought before its `calls`: some endpoints insist on having it back with the results,
    some on what they `sealed` of it. Both are for the model alone.
    """

    speaker: Speaker
    content: str = ""
    calls: tuple[RawToolCall, ...] = ()
    call_id: str | None = None
    reasoning: str = ""
    sealed: SealedThoughts | None = None


class ToolSpec(Model):
    """A tool offered to a model. `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]  # JSON Schema has no closed type


class OutputSchema(Model):
    """The JSON that a model's text must be: a JSON Schema object with its name."""

    name: str
    json_schema: dict[str, Any]  # JSON Schema has no closed type


class ChatReply(Model):
    """One answer of a model. `was_cut` tells that the output limit ended it.

    `reasoning` is what it thought beside its answer, as far as the endpoint tells it apart; empty for none. `sealed` is
    what it wants back with the results of its calls; None for nothing.
    `notices` are for the reader of the run.
    `usage_is_estimated`: the endpoint did not count all tokens, so that those of `usage` are worked out from the texts.
    """

    content: str
    calls: tuple[RawToolCall, ...] = ()
    reasoning: str = ""
    sealed: SealedThoughts | None = None
    was_cut: bool = False
    usage: Usage = Usage()
    usage_is_estimated: bool = False
    model: str = ""
    notices: tuple[str, ...] = ()

    @property
    def says_nothing(self) -> bool:
        """Whether it calls no tool and has no text, or nothing but headings."""
        lines = (line.strip() for line in self.content.splitlines())
        return not self.calls and all(line.startswith("#") for line in lines if line)
