"""From what a person typed to the request of a run."""

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from datetime import date, timedelta
from typing import TextIO

from pydantic import ValidationError

from deer.errors import InvalidInput
from deer.models import MAX_QUESTION_CHARS, RUN_ID_PATTERN, Kind, ReportStyle, ResearchRequest

_OPTION_OF_FIELD = {
    "question": "QUESTION",
    "look_around": "--no-look-around",
    "web_search": "--no-web-search",
    "review_deadline_policy": "--on-review-deadline",
    "allowed_domains": "--allow-domain",
    "denied_domains": "--deny-domain",
}
_MAX_READ_CHARS = 1_000_000
"""Of standard input: far above any question, and far below what fills a memory."""
_LIMIT_RULES = {
    Kind.TOKENS: "a whole number from 1 to 10,000,000,000",
    Kind.USD: "an amount above 0, at most 1,000,000",
    Kind.MINUTES: "a number above 0, at most 525,600",
    Kind.SEARCHES: "a whole number from 0 to 1,000,000",
    Kind.PAGES: "a whole number from 0 to 1,000,000",
}
_UNIT_OF_LETTER = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def read_question(words: str, standard_input: TextIO) -> str:
    """The question as typed; `-` reads standard input. Raises InvalidInput when it is empty or too long."""
    try:
        question = (standard_input.read(_MAX_READ_CHARS) if words == "-" else words).strip()
    except UnicodeDecodeError as error:
        raise InvalidInput("what comes on standard input is no text", "QUESTION") from error
    if not question:
        raise InvalidInput('the question is empty; ask as in: research "What is durable execution?"', "QUESTION")
    if len(question) > MAX_QUESTION_CHARS:
        raise InvalidInput(
            f"the question has {len(question):,} characters, at most {MAX_QUESTION_CHARS:,} are allowed; "
            "put long material into files and give their folder with --documents",
            "QUESTION",
        )
    return question


def build_request(question: str, options: Mapping[str, object]) -> ResearchRequest:
    """The request for a question. An option that is None keeps its default.

    Raises InvalidInput naming the option, its value and what is allowed.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for field in ("review_deadline", "attention_deadline"):
        if isinstance(deadline := given.get(field), str):
            given[field] = parse_duration(deadline, option_of(field))
    if limits := limits_in({kind: given.pop(f"budget_{kind}", None) for kind in Kind}):
        given["budget"] = limits
    if isinstance(style := given.get("report_style"), str):
        given["report_style"] = style.strip().lower().replace("-", "_")
    if isinstance(locale := given.get("locale"), str):
        given["locale"] = locale.strip().replace("_", "-")
    try:
        request = ResearchRequest.model_validate({"question": question, **given})
    except ValidationError as error:
        raise _naming_the_option(error) from None
    if "review_deadline_policy" in given and request.review_deadline is None:
        raise InvalidInput(
            "it says what happens at a deadline; give one with --review-deadline", "--on-review-deadline"
        )
    return request


def limits_in(options: Mapping[Kind, object]) -> dict[str, object]:
    """The limits of a budget that were given; the word `none` lifts one, and None says nothing of it."""
    given = {kind.value: value for kind, value in options.items() if value is not None}
    return {name: None if str(value).strip().lower() == "none" else value for name, value in given.items()}


def bad_limit(option: str, kind: Kind, value: object) -> InvalidInput:
    """That a limit is not allowed, with what is."""
    shown = str(value).strip()[:80] or "nothing"
    return InvalidInput(f"{shown} is not allowed: give {_LIMIT_RULES[kind]}, or none for no limit", option)


def parse_duration(text: str, option: str) -> timedelta:
    """A time such as `90s`, `30m`, `24h`, `2d` or `1h30m`. Raises InvalidInput naming the option."""
    written = text.strip().lower()
    parts = re.findall(r"(\d{1,9})([smhd])", written)
    if not parts or "".join(number + letter for number, letter in parts) != written:
        raise InvalidInput(f"{text!r} is no time; write it as 90s, 30m, 24h or 2d", option)
    try:
        return sum((timedelta(**{_UNIT_OF_LETTER[letter]: int(number)}) for number, letter in parts), timedelta())
    except OverflowError:
        raise InvalidInput(f"{text!r} is longer than anybody can wait", option) from None


def new_run_id(today: date) -> str:
    """A readable id that no run has yet, such as `r-20261130-4f2a1c`."""
    return f"r-{today:%Y%m%d}-{secrets.token_hex(3)}"


def check_run_id(name: str) -> str:
    """The name itself. Raises InvalidInput when it cannot name a run."""
    if not re.fullmatch(RUN_ID_PATTERN, name):
        raise InvalidInput(f"{name!r} is not allowed; use letters, digits and ._- , 64 characters at most", "--id")
    return name


def request_hash(request: ResearchRequest) -> str:
    """SHA-256 of the request in canonical JSON: equal requests have equal hashes, in every process."""
    canonical = json.dumps(request.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def option_of(field: str) -> str:
    """The option that sets a field of the request."""
    return _OPTION_OF_FIELD.get(field, f"--{field.replace('_', '-')}")


def _naming_the_option(error: ValidationError) -> InvalidInput:
    complaint = error.errors(include_url=False, include_context=False)[0]
    field = str(complaint["loc"][0]) if complaint["loc"] else ""
    option, rule = option_of(field), complaint["msg"].removeprefix("Value error, ")
    if field == "budget":
        kind = Kind(str(complaint["loc"][-1]))
        return bad_limit(f"--budget-{kind}", kind, complaint["input"])
    if field == "question":
        return InvalidInput(rule, option)
    if field == "report_style":
        rule = f"one of {', '.join(ReportStyle)}"
    if field in ("allowed_domains", "denied_domains"):
        rule = "write a host such as example.org, without scheme, port or path"
    if field == "locale":
        rule = "write a language as en-US or zh-CN"
    return InvalidInput(f"{str(complaint['input'])[:80]} is not allowed: {rule[0].lower()}{rule[1:]}", option)
