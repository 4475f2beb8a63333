"""Services that fail at random, the same way for the same seed and order of calls."""

import random
from collections import Counter

from tests.scripted.calls import Call
from tests.scripted.replies import Failure

RATE_LIMITED = Failure(
    429, {"error": {"message": "Rate limit reached.", "type": "rate_limit_error"}}, {"retry-after-ms": "50"}
)
BROKEN = Failure(500)


class Chaos:
    """Fails a share of the calls: rate limits, server errors, and stalls of `stall_s` that end in an error."""

    def __init__(self, seed: int, share: float, stall_s: float) -> None:
        self.dealt: Counter[str] = Counter()
        """How many failures of each sort were dealt."""
        self._share = share
        self._random = random.Random(seed)
        self._failures = {"429": RATE_LIMITED, "500": BROKEN, "stall": Failure(500, hang_s=stall_s)}

    def __call__(self, call: Call) -> Failure | None:
        """The failure that a call is answered with, if any."""
        if self._random.random() >= self._share:
            return None
        name = self._random.choice(list(self._failures))
        self.dealt[name] += 1
        return self._failures[name]
