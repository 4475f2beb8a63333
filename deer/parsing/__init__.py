"""Model text and human input into models, with errors that name what was wrong.

One path leads from a model's words to a plan (`plan_in`), and one validation serves the plans of models and of people
(`parse_plan`). The arguments of tool calls are never guessed at.
"""

from deer.parsing.fields import first_error
from deer.parsing.locales import sane_locale
from deer.parsing.plans import parse_plan
from deer.parsing.replies import json_object, plan_in, plan_that_is
from deer.parsing.storable import storable
from deer.parsing.thoughts import answer_of, without_thoughts
from deer.parsing.tool_calls import (
    MAX_CLAIM_CHARS,
    MAX_CLAIMS,
    MAX_CLAIMS_BYTES,
    arguments_of,
    parse_finding,
    parse_tool_call,
)

__all__ = [
    "MAX_CLAIMS",
    "MAX_CLAIMS_BYTES",
    "MAX_CLAIM_CHARS",
    "answer_of",
    "arguments_of",
    "first_error",
    "json_object",
    "parse_finding",
    "parse_plan",
    "parse_tool_call",
    "plan_in",
    "plan_that_is",
    "sane_locale",
    "storable",
    "without_thoughts",
]
