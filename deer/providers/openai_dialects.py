"""How much of OpenAI's dialect an endpoint understands, learnt from what it refuses."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from deer.models import ChatReply, Speaker
from deer.ports import ChatRequest
from deer.providers.openai_errors import Refusal


class OutputDialect(IntEnum):
    """How the endpoint is told what JSON to write, from the most binding to the least."""

    SCHEMA = 0
    TOOL = 1
    """A single tool that must be called, whose parameters are the schema."""
    JSON = 2
    WORDS = 3


class ToolDialect(IntEnum):
    """How the endpoint is told of tools."""

    FORCED = 0
    """Where a call is wanted, it can be insisted on."""
    OFFERED = 1
    WORDS = 2
    """Nothing but text: tools, calls and results are told in it."""


class StreamDialect(IntEnum):
    """How an answer comes."""

    WITH_USAGE = 0
    PLAIN = 1
    WHOLE = 2


class SystemDialect(IntEnum):
    """Under which role the system message is sent."""

    SYSTEM = 0
    DEVELOPER = 1
    USER = 2
    """It becomes the beginning of the first user message."""


REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where endpoints write what a model thought, beside its answer."""

OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens")
"""Two names of one setting; which of them an endpoint wants depends on the model."""

_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
"""Settings that some models refuse, for which going without is better than no answer."""

_MAY_BE_ABOUT_DIALECT = frozenset({400, 404, 422, 500, 501})
_STATUSES_OF_OTHER_ERRORS = frozenset({404, 500, 501})

_UNABLE = re.compile(
    r"(\bnot|n't|\bun|\bno longer) ?-?(be )?(support|enabl|permitt|allow|recogni|implement|known|expected|accept|"
    r"available|valid)|\binvalid|\bextra\b|\brequires? |\binstead\b|that support|\bmust be\b|\bshould be\b|"
    r"\bonly\b|deprecated"
)
# The words for statuses that mostly mean something else: a service that is "not available" may be so again.
_CLEARLY_UNABLE = re.compile(r"(\bnot|n't|\bun|\bthat) ?-?(be )?(support|implement|enabl)|\brequires? |must alternate")
_OUTPUT = re.compile(r"response[_ ]format|json[_ ]schema|json[_ ]object|structured output|guided|grammar")
_CHOICE = re.compile(r"tool[_ ]choice")
_TOOLS = re.compile(
    r"\b(tools|tool[_ -](use|call|calls|calling|choice|call-parser)|functions?|function[_ -]calls?(ing)?)\b"
)
_ORDER_OF_CALLS = re.compile(r"preced|follow|respon[ds]|tool_call_id|must alternate")
_PARALLEL = re.compile(r"parallel[_ ]tool")
_STREAM_USAGE = re.compile(r"stream[_ ]options|include_usage")
_STREAM = re.compile(r"\bstream(ing|ed)?\b")
_SYSTEM = re.compile(
    r"system[' ]*(role|message|prompt|instruction)|roles?\b.{0,60}\bsystem\b|developer (role|instruction|message)|"
    r"does not support '(system|developer)'|roles must alternate"
)
_WANTS_DEVELOPER = re.compile(
    r"(use|instead|expected|one of|supported values).{0,60}\bdeveloper\b|\bdeveloper\b.{0,20}instead"
)
_REASONING = re.compile(r"\breasoning(_content)?\b")
_SEALS = re.compile(r"\b(reasoning_details|extra_content|thought_signature)\b")
_UNSIGNED = re.compile(r"missing a[` ]+thought_?signature")
_MISSING = re.compile(r"missing|must be (passed|sent|provided)|required")


@dataclass(frozen=True)
class Dialect:
    """What an endpoint understands, as far as it is known. Fields that a request does not use are never in doubt."""

    output: OutputDialect = OutputDialect.SCHEMA
    tools: ToolDialect = ToolDialect.FORCED
    knows_parallel_calls: bool = True
    stream: StreamDialect = StreamDialect.WITH_USAGE
    system: SystemDialect = SystemDialect.SYSTEM
    reasoning_field: str | None = REASONING_FIELDS[0]
    """Under which name a model's reasoning is sent back to it; None where that is refused."""
    takes_seals: bool = True
    """Whether what an endpoint seals of a model's thoughts is sent back to it."""
    signs_all_calls: bool = False
    """Whether calls that another model made must say so where its own have a signature."""
    output_limit: str | None = None
    """The name of the output limit that the endpoint insists on; None leaves it as it was set."""
    refused_settings: frozenset[str] = frozenset()

    def output_of(self, request: ChatRequest) -> OutputDialect:
        """How a request's schema is told: a tool of its own is no way beside other tools, or where there are none."""
        has_no_room = bool(request.tools) or self.tools is ToolDialect.WORDS
        return OutputDialect.JSON if self.output is OutputDialect.TOOL and has_no_room else self.output

    def settings(self, extra: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON of the endpoint's own making
        """Those of a model's settings that the endpoint takes, under the names it wants."""
        taken = {name: value for name, value in extra.items() if name not in self.refused_settings}
        if self.output_limit is not None:
            taken = {self.output_limit if name in OUTPUT_LIMITS else name: value for name, value in taken.items()}
        return taken

    def without_refused(
        self, refusal: Refusal, request: ChatRequest, extra: Mapping[str, Any]
    ) -> "Dialect | None":  # Any: as above
        """The next simpler dialect after a refusal of this request; None when it is about something else."""
        if refusal.status not in _MAY_BE_ABOUT_DIALECT or refusal.is_about_length:
            return None
        mostly_means_another = refusal.status in _STATUSES_OF_OTHER_ERRORS
        if mostly_means_another and not (refusal.message and _CLEARLY_UNABLE.search(refusal.text)):
            return None
        is_unable = mostly_means_another or bool(_UNABLE.search(refusal.text))
        return next(self._steps_down(refusal.text, request, extra, is_unable=is_unable), None)

    def after_answer(self, request: ChatRequest, reply: ChatReply, reasoning_field: str | None) -> "Dialect":
        """The dialect for later requests, after this answer; `reasoning_field` is where it has its reasoning, if any.

        An endpoint that answered without the call it was bound to does not know that way of asking for JSON.
        """
        learnt = self
        if reasoning_field and self.reasoning_field:
            learnt = replace(learnt, reasoning_field=reasoning_field)
        asked_by_tool = request.output is not None and self.output_of(request) is OutputDialect.TOOL
        if asked_by_tool and not reply.calls and not reply.was_cut:
            learnt = replace(learnt, output=OutputDialect.JSON)
        return learnt

    def _steps_down(
        self, said: str, request: ChatRequest, extra: Mapping[str, Any], *, is_unable: bool
    ) -> Iterator["Dialect"]:
        yield from self._other_seals(said, request, is_unable=is_unable)
        if is_unable:
            yield from self._simpler_stream(said)
        yield from self._simpler_tools(said, request, is_unable=is_unable)
        yield from self._simpler_output(said, request, is_unable=is_unable)
        if is_unable:
            yield from self._simpler_settings(said, extra)
        yield from self._simpler_messages(said, request)

    def _other_seals(self, said: str, request: ChatRequest, *, is_unable: bool) -> Iterator["Dialect"]:
        has_calls = any(message.calls for message in request.messages)
        if has_calls and _UNSIGNED.search(said):
            if not self.signs_all_calls:
                yield replace(self, signs_all_calls=True)
        elif is_unable and self.takes_seals and any(m.sealed for m in request.messages) and _SEALS.search(said):
            yield replace(self, takes_seals=False)

    def _simpler_stream(self, said: str) -> Iterator["Dialect"]:
        if self.stream is StreamDialect.WITH_USAGE and _STREAM_USAGE.search(said):
            yield replace(self, stream=StreamDialect.PLAIN)
        elif self.stream < StreamDialect.WHOLE and _STREAM.search(said):
            yield replace(self, stream=StreamDialect.WHOLE)

    def _simpler_tools(self, said: str, request: ChatRequest, *, is_unable: bool) -> Iterator["Dialect"]:
        if request.tools and self.knows_parallel_calls and _PARALLEL.search(said):
            yield replace(self, knows_parallel_calls=False)
        elif request.must_call_tool and self.tools is ToolDialect.FORCED and _CHOICE.search(said):
            yield replace(self, tools=ToolDialect.OFFERED)
        elif _speaks_of_tools(request) and self.tools < ToolDialect.WORDS and is_unable and _is_about_tools(said):
            yield replace(self, tools=ToolDialect.WORDS)

    def _simpler_output(self, said: str, request: ChatRequest, *, is_unable: bool) -> Iterator["Dialect"]:
        if request.output is None:
            return
        output = self.output_of(request)
        is_about_it = is_unable and _is_about_tools(said) if output is OutputDialect.TOOL else _OUTPUT.search(said)
        if output is not OutputDialect.WORDS and is_about_it:
            yield replace(self, output=OutputDialect(output + 1))

    def _simpler_settings(self, said: str, extra: Mapping[str, Any]) -> Iterator["Dialect"]:
        taken = self.settings(extra)
        for name in _SAMPLING:
            if name in taken and re.search(rf"\b{name}\b", said):
                yield replace(self, refused_settings=self.refused_settings | {name})
        for name, other in zip(OUTPUT_LIMITS, reversed(OUTPUT_LIMITS), strict=True):
            if name in taken and self.output_limit is None and re.search(rf"\b{name}\b", said):
                yield replace(self, output_limit=other)

    def _simpler_messages(self, said: str, request: ChatRequest) -> Iterator["Dialect"]:
        has_system = any(message.speaker is Speaker.SYSTEM for message in request.messages)
        if has_system and self.system < SystemDialect.USER and _SYSTEM.search(said):
            wants_developer = self.system is SystemDialect.SYSTEM and _WANTS_DEVELOPER.search(said)
            yield replace(self, system=SystemDialect.DEVELOPER if wants_developer else SystemDialect.USER)
        has_thoughts = any(message.reasoning for message in request.messages)
        if has_thoughts and self.reasoning_field is not None and _REASONING.search(said):
            yield from self._other_reasoning(said)

    def _other_reasoning(self, said: str) -> Iterator["Dialect"]:
        if not _MISSING.search(said):
            yield replace(self, reasoning_field=None)
        elif self.reasoning_field != REASONING_FIELDS[0]:
            yield replace(self, reasoning_field=REASONING_FIELDS[0])


def _speaks_of_tools(request: ChatRequest) -> bool:
    """Whether tools are offered, or were called before: some endpoints refuse the calls once no tool is offered."""
    return bool(request.tools) or any(message.calls for message in request.messages)


def _is_about_tools(said: str) -> bool:
    """Whether words are about tools as such, rather than about the order of calls and their results."""
    return bool(_TOOLS.search(said)) and not _ORDER_OF_CALLS.search(said)
