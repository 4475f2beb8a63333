"""Times as people say them."""

from datetime import datetime

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def age(since: datetime, now: datetime) -> str:
    """How long ago something was, in its largest whole unit: `3 h`."""
    seconds = max(0, int((now - since).total_seconds()))
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), _UNITS[-1])
    return f"{seconds // size} {unit}"
