"""The tool calls of models. Their arguments are taken as they are or refused, never guessed."""

import json
from collections.abc import Collection
from typing import Any

from pydantic import BaseModel, Field, ValidationError, field_validator

from deer.errors import InvalidInput
from deer.models import Claim, Finding, RawToolCall, ToolCall, ToolName
from deer.parsing.fields import first_error
from deer.parsing.storable import storable
from deer.parsing.thoughts import without_thoughts

MAX_CLAIMS = 30
MAX_CLAIM_CHARS = 600
MAX_CLAIMS_BYTES = 32 * 1024
"""Of the claims of a finding: those of thirty steps travel together and stay well below the 2 MB of a payload."""


class _SearchArguments(BaseModel):
    query: str = Field(min_length=1, max_length=2_000)
    max_results: int | None = Field(default=None, ge=1, le=20)
    topic: str = Field(default="general", pattern="^(general|news)$")
    search_depth: str = Field(default="advanced", pattern="^(basic|advanced)$")

    @field_validator("query")
    @classmethod
    def _has_words(cls, query: str) -> str:
        if not query.strip():
            raise ValueError("must not be empty")
        return query.strip()


class _PageArguments(BaseModel):
    url: str = Field(min_length=1, max_length=4_000)


class _ClaimArguments(BaseModel):
    text: str = Field(min_length=1, max_length=MAX_CLAIM_CHARS)
    source_id: str = Field(default="", max_length=100)
    quote: str = Field(default="", max_length=MAX_CLAIM_CHARS)


class _FindingArguments(BaseModel):
    summary: str = Field(min_length=1, max_length=200_000)
    claims: list[_ClaimArguments] = Field(default=[], max_length=MAX_CLAIMS)


def arguments_of(call: RawToolCall) -> dict[str, Any]:
    """The arguments of a tool call, texts without thoughts. They are never guessed.

    Raises InvalidInput when they are not a JSON object.
    """
    try:
        value = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        raise InvalidInput("the arguments are not valid JSON", call.name) from None
    if not isinstance(value, dict):
        raise InvalidInput("the arguments must be a JSON object", call.name)
    arguments: dict[str, Any] = storable(value)
    return {name: without_thoughts(text) if isinstance(text, str) else text for name, text in arguments.items()}


def parse_tool_call(call: RawToolCall, offered: Collection[str]) -> ToolCall:
    """A tool call that can be made, or one that carries the error to tell the model."""
    try:
        if call.name not in offered:
            raise InvalidInput(f"there is no tool {call.name!r}; the tools are {', '.join(sorted(offered))}")
        arguments = arguments_of(call)
        if call.name == ToolName.WEB_SEARCH:
            search = _SearchArguments.model_validate(arguments)
            return ToolCall(
                id=call.id,
                name=call.name,
                query=search.query,
                max_results=search.max_results,
                topic=search.topic,
                depth=search.search_depth,
            )
        if call.name == ToolName.READ_PAGE:
            return ToolCall(id=call.id, name=call.name, url=_PageArguments.model_validate(arguments).url.strip())
        raise InvalidInput(f"{call.name} ends the step: call it once and alone")
    except ValidationError as error:
        return ToolCall(id=call.id, name=call.name, error=str(first_error(error)))
    except InvalidInput as error:
        return ToolCall(id=call.id, name=call.name, error=str(error))


def parse_finding(call: RawToolCall) -> Finding:
    """The finding that `submit_finding` hands in. Raises InvalidInput naming the field."""
    try:
        given = _FindingArguments.model_validate(arguments_of(call))
    except ValidationError as error:
        raise first_error(error) from None
    claims = tuple(
        Claim(text=claim.text.strip(), source_id=claim.source_id.strip("[] "), quote=claim.quote)
        for claim in given.claims
    )
    if not given.summary.strip():
        raise InvalidInput("must not be empty", "summary")
    size = sum(len((claim.text + claim.quote).encode("utf-8", "replace")) for claim in claims)
    if size > MAX_CLAIMS_BYTES:
        raise InvalidInput(f"{size} bytes of text and quotes, at most {MAX_CLAIMS_BYTES} allowed", "claims")
    return Finding(summary=given.summary.strip(), claims=claims)
