"""What an OpenAI-compatible endpoint refuses or fails at, as `ServiceError`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deer.errors import FailureKind, ServiceError
from deer.providers.complaints import retry_after, words_of

MALFORMED_ATTEMPTS = 3
"""An answer that cannot be read may have been paid for, and an endpoint that sends one tends to send the next."""

_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "too many tokens",
    "too many input tokens",
    "maximum number of tokens",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input too long",
    "reduce the length",
    "string_above_max_length",
)
_NAMED_LIMIT = re.compile(
    r"(?:maximum context length|context (?:size|window|length)|tokens allowed|limit)(?: of| is|:| \(|\()* ?"
    r"(\d[\d,]{2,}\d)|> ?(\d[\d,]{2,}\d)(?: tokens)? max"
)
_QUOTA_SPENT = ("insufficient_quota", "insufficient balance", "insufficient credits", "billing_hard_limit_reached")
_NO_SUCH_MODEL = re.compile(
    r"model_not_found|model not found|no such model|unknown model|\bmodel\b.{0,100}does not exist|access to model"
)
_FILTERED = re.compile(r"content[_ ](filter|policy|management)|moderation|flagged")
_MAY_PASS = frozenset({408, 409, 425, 429})

# The types that endpoints give their errors, for those that come without a status of their own.
_STATUS_OF_WORDS = (
    (re.compile(r"rate_limit|rate limit|too_many_requests|too many requests"), 429),
    (re.compile(r"invalid_api_key|authentication_error|incorrect api key"), 401),
    (re.compile(r"overloaded|server_error|unavailable"), 503),
    (re.compile(r"invalid_request|badrequest|bad_request"), 400),
)
_NOT_SAID = frozenset({"input", "ctx", "body"})
"""Parts of an error that repeat the request, whose words are not the endpoint's."""


@dataclass(frozen=True)
class Refusal:
    """An answer that is none: its HTTP status, headers, and whatever the body says of the error."""

    status: int
    headers: Mapping[str, str]
    error: object

    @cached_property
    def text(self) -> str:
        """Everything that the endpoint said, in small letters, to look words up in."""
        return " ".join(_said_in(self.error)).lower()

    @property
    def message(self) -> str:
        """The endpoint's own sentence, empty when it has none."""
        error = self.error
        for key in ("error", "message", "detail"):
            if isinstance(error, Mapping) and error.get(key):
                error = error[key]
        words = error if isinstance(error, str) else str(error or "")
        return "" if words.lstrip().startswith("<") else words  # a gateway's web page says nothing to a person

    @property
    def is_about_length(self) -> bool:
        """Whether the endpoint says that the request is too long, naming perhaps what all is in it."""
        return self.status in (200, 400, 413, 422) and (self.status == 413 or self.says(_TOO_LONG))

    @property
    def named_limit(self) -> int | None:
        """How many tokens the endpoint says that the model takes; None when it does not say."""
        found = _NAMED_LIMIT.search(self.text)
        return int((found[1] or found[2]).replace(",", "")) if found else None

    def says(self, words: Iterable[str]) -> bool:
        """Whether the endpoint used one of these words."""
        return any(word in self.text for word in words)


def _said_in(error: object) -> Iterator[str]:
    if isinstance(error, Mapping):
        for name, value in error.items():
            if name not in _NOT_SAID:
                yield from _said_in(value)
    elif isinstance(error, Sequence) and not isinstance(error, str | bytes):
        for value in error:
            yield from _said_in(value)
    elif error is not None:
        yield str(error)


def error_in(payload: Mapping[str, Any], headers: Mapping[str, str]) -> Refusal | None:  # Any: no closed type
    """The refusal in a body or a piece of a stream that came with status 200; None when there is none."""
    error = payload if payload.get("object") == "error" else payload.get("error")
    if not error:
        return None
    found = Refusal(status=200, headers=headers, error=error)
    return Refusal(_status_in(error) or _status_of(found.text), headers, error)


def _status_in(error: object) -> int | None:
    """The HTTP status that an error names as its code."""
    codes = (error.get("code"), error.get("status")) if isinstance(error, Mapping) else ()
    numbers = (int(code) for code in codes if isinstance(code, int) or (isinstance(code, str) and code.isdecimal()))
    return next((number for number in numbers if 400 <= number <= 599), None)


def _status_of(text: str) -> int:
    return next((status for words, status in _STATUS_OF_WORDS if words.search(text)), 200)


def service_error(refusal: Refusal, endpoint: str, model: str, secrets: Iterable[str]) -> ServiceError:
    """The error of a refusal: kind, whether a retry helps, how long to wait, and one line with the remedy."""
    kind = _kind_of(refusal)
    may_pass = kind in (FailureKind.RATE_LIMITED, FailureKind.UNAVAILABLE)
    if may_pass and refusal.headers.get("x-should-retry") == "false":
        may_pass = False
    words = words_of(refusal.message, secrets)
    said = f": {words}" if words else ""
    return ServiceError(
        f"{_happening(kind, endpoint, model)} (HTTP {refusal.status}){said}{_REMEDIES.get(kind, '')}",
        kind,
        retryable=may_pass,
        retry_after=retry_after(refusal.headers) if may_pass else None,
        token_limit=refusal.named_limit if kind is FailureKind.TOO_LONG else None,
    )


def malformed(endpoint: str, what: str) -> ServiceError:
    """The error of an answer that cannot be read; worth a few attempts only."""
    return ServiceError(
        f"the model endpoint {endpoint} {what}",
        FailureKind.MALFORMED,
        retryable=True,
        max_attempts=MALFORMED_ATTEMPTS,
    )


def unavailable(endpoint: str, what: str) -> ServiceError:
    """The error of an endpoint that did not answer, or not to the end; a later attempt may help."""
    return ServiceError(f"the model endpoint {endpoint} {what}", FailureKind.UNAVAILABLE, retryable=True)


def filtered(endpoint: str) -> ServiceError:
    """The error of an answer that the endpoint's content filter held back, wholly or from some point on."""
    return ServiceError(
        f"the content filter of the model endpoint {endpoint} held the answer back; word the question differently",
        FailureKind.REJECTED,
    )


def _kind_of(refusal: Refusal) -> FailureKind:
    status = refusal.status
    if status == 402 or refusal.says(_QUOTA_SPENT):
        return FailureKind.QUOTA_SPENT
    if status in (400, 403, 404, 422) and _NO_SUCH_MODEL.search(refusal.text):
        return FailureKind.UNKNOWN_MODEL
    if status == 403 and _FILTERED.search(refusal.text):
        return FailureKind.REJECTED
    if status in (401, 403):
        return FailureKind.KEY_REFUSED
    if status == 404:
        return FailureKind.UNKNOWN_MODEL
    if refusal.is_about_length:
        return FailureKind.TOO_LONG
    if status == 429:
        return FailureKind.RATE_LIMITED
    is_failure_of_theirs = status >= 500 or status < 400  # an error under status 200 comes from a gateway
    if is_failure_of_theirs or status in _MAY_PASS or refusal.headers.get("x-should-retry") == "true":
        return FailureKind.UNAVAILABLE
    return FailureKind.REJECTED


def _happening(kind: FailureKind, endpoint: str, model: str) -> str:
    happenings = {
        FailureKind.KEY_REFUSED: f"the model endpoint {endpoint} refused the key",
        FailureKind.QUOTA_SPENT: f"the quota at the model endpoint {endpoint} is spent",
        FailureKind.UNKNOWN_MODEL: f"the model endpoint {endpoint} does not know the model {model!r}",
        FailureKind.TOO_LONG: f"the request is longer than the model {model!r} can take",
        FailureKind.RATE_LIMITED: f"the model endpoint {endpoint} is asked too often",
        FailureKind.UNAVAILABLE: f"the model endpoint {endpoint} is not available",
    }
    return happenings.get(kind, f"the model endpoint {endpoint} rejected the request")


_REMEDIES = {
    FailureKind.KEY_REFUSED: "; set a valid OPENAI_API_KEY",
    FailureKind.QUOTA_SPENT: "; add credit or use another key",
    FailureKind.UNKNOWN_MODEL: "; check BASIC_MODEL and OPENAI_BASE_URL",
}
