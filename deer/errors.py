"""Every error of the product, in one tree.

    DeerError
    ├── SettingsError      a setting is wrong or missing; the program stops
    │   └── ExtraMissing   what is asked for needs an extra that is not installed
    ├── InvalidInput       what a person or a model wrote breaks a rule; names the field
    ├── Refused            a well-formed message that does not fit the run as it stands
    ├── NotFound           no such run, collection or stored text
    ├── NoServer           no Temporal server, or no worker on its queue
    └── ServiceError       a model, search engine, page, sandbox or store did not deliver

The text of each is one line for a person: the thing, its value, the remedy. It never holds a key.
Providers raise `ServiceError`; `activities.failures` alone turns it into Temporal's `ApplicationError`.
"""

from datetime import timedelta
from enum import StrEnum


class DeerError(Exception):
    """Base of all errors raised on purpose."""


class SettingsError(DeerError):
    """A setting has a value that is not allowed, is missing, or is unknown. Retrying does not help."""


class ExtraMissing(SettingsError):
    """What a setting or a command asks for needs the packages of an extra."""

    def __init__(self, wanted: str, extra: str) -> None:
        super().__init__(
            f"{wanted} needs the extra `{extra}`, which is not installed; "
            f"run: make setup EXTRAS={extra}, or: uv pip install -r requirements/{extra}.lock"
        )


MAX_COMPLAINT_CHARS = 600


class InvalidInput(DeerError):
    """Text from a person or a model breaks a rule.

    `field` is a dotted path into what was given (`steps.2.title`), empty for the whole. The message may quote what was
    given and is cut: a notice or an update's answer must not grow with it.
    """

    def __init__(self, message: str, field: str = "") -> None:
        told = f"{field}: {message}" if field else message
        super().__init__(told if len(told) <= MAX_COMPLAINT_CHARS else f"{told[: MAX_COMPLAINT_CHARS - 1]}…")
        self.field = field


class Refused(DeerError):
    """A well-formed message that the run cannot take in its present state, with the reason."""


class NotFound(DeerError):
    """No run, collection or stored text has this name."""


class NoServer(DeerError):
    """No Temporal server answers, or no worker polls the queue of this deployment."""


class FailureKind(StrEnum):
    """Why a service did not deliver. The word becomes the `type` of Temporal's ApplicationError."""

    RATE_LIMITED = "RateLimited"
    UNAVAILABLE = "Unavailable"
    REJECTED = "Rejected"
    MALFORMED = "Malformed"
    TOO_LONG = "TooLong"
    KEY_REFUSED = "KeyRefused"
    QUOTA_SPENT = "QuotaSpent"
    UNKNOWN_MODEL = "UnknownModel"
    ADDRESS_REFUSED = "AddressRefused"
    UNREADABLE = "Unreadable"
    STORE_UNWRITABLE = "StoreUnwritable"


NEEDS_A_PERSON = frozenset(
    {FailureKind.KEY_REFUSED, FailureKind.QUOTA_SPENT, FailureKind.UNKNOWN_MODEL, FailureKind.STORE_UNWRITABLE}
)
"""Kinds that only a person can mend: the run holds in `needs_attention` and keeps its work."""


class ServiceError(DeerError):
    """A service did not deliver.

    `retryable`: whether the same call may succeed later without anybody's help.
    `retry_after`: how long the service asked to be left alone; None when it did not say.
    `max_attempts`: how many attempts in all this failure is worth, each being paid for; None leaves it to the policy.
    `token_limit`: how much the service says that it takes where the request was too long; None when it did not say.
    """

    def __init__(
        self,
        message: str,
        kind: FailureKind,
        *,
        retryable: bool = False,
        retry_after: timedelta | None = None,
        max_attempts: int | None = None,
        token_limit: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable
        self.retry_after = retry_after
        self.max_attempts = max_attempts
        self.token_limit = token_limit
