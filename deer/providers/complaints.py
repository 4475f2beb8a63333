"""What services say about their failures: how long to wait, and their own words without keys."""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import quote

from deer.providers.plain_text import one_line

LONGEST_WAIT = timedelta(minutes=2)
"""A service that asks for more is asked again after this; the retry policy decides how often."""

MAX_WORDS_CHARS = 200
"""So much of a service's own words fits into a message of one short line."""

_KEY_LIKE = re.compile(
    r"\b(?:sk|rk|tvly|gsk|xai|hf)[-_][\w*.-]{4,}|\bAIza[\w-]{10,}|\bBearer\s+[^\s\"',]+", re.IGNORECASE
)


def retry_after(headers: Mapping[str, str]) -> timedelta | None:
    """How long the service asked to be left alone, at most `LONGEST_WAIT`; None when it did not say.

    Reads `retry-after-ms`, and `retry-after` as seconds or as an HTTP date (RFC 9110, 10.2.3). `headers` looks
    names up without regard to case, as the mappings of HTTP clients do.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        seconds = _number(value) if value is not None else None
        if seconds is not None:
            return bounded_wait(seconds * unit)
    date = headers.get("retry-after")
    if date is None:
        return None
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, TypeError, OverflowError):  # no date either: the same as not saying
        return None
    if moment.tzinfo is None:  # "-0000", which is UTC without a word on the local zone
        moment = moment.replace(tzinfo=UTC)
    return bounded_wait((moment - datetime.now(UTC)).total_seconds())


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def bounded_wait(seconds: float) -> timedelta:
    """A wait that a service asked for, at most `LONGEST_WAIT`."""
    return timedelta(seconds=min(max(seconds, 0.0), LONGEST_WAIT.total_seconds()))


def words_of(text: str, secrets: Iterable[str] = ()) -> str:
    """A service's own words in one short line, with `secrets` and whatever looks like a key taken out."""
    for secret in secrets:
        for form in (secret, quote(secret, safe="")):
            text = text.replace(form, "[key]")
    line = _KEY_LIKE.sub("[key]", one_line(text))
    return line if len(line) <= MAX_WORDS_CHARS else line[: MAX_WORDS_CHARS - 1] + "…"
