"""What is said to a model and what comes back, in no endpoint's dialect."""

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


class ChatMessage(Model):
    """One message of a conversation. `call_id` is set on a tool's reply, `calls` on an assistant's message.

    `reasoning` is what the model thought before its `calls`: some endpoints insist on having it back with the results.
    It is for the model alone.
    """

    speaker: Speaker
    content: str = ""
    calls: tuple[RawToolCall, ...] = ()
    call_id: str | None = None
    reasoning: str = ""


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

    `reasoning` is what it thought beside its answer, as far as the endpoint tells it apart; empty for none.
    `notices` are for the reader of the run.
    `usage_is_estimated`: the endpoint did not count all tokens, so that those of `usage` are worked out from the texts.
    """

    content: str
    calls: tuple[RawToolCall, ...] = ()
    reasoning: str = ""
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
