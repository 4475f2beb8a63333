"""Measures the check of quotes: a thousand claims against two hundred stored pages. Prints one JSON object.

Twenty of them are misquoted, so that the true wording is looked for, as far as a finding is told of it.
"""

import json
import random
import sys
import time

from deer.evidence import ClaimChecker
from deer.models import Check, Claim, Source

PAGES, PAGE_CHARS, QUOTES, MISQUOTED, BOUND_S = 200, 50_000, 1_000, 20, 2.0
QUOTE_CHARS = 150


def main() -> int:
    """Print the figures; the exit code says whether they hold."""
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(5_000)]
    pages = [" ".join(chance.choices(words, k=PAGE_CHARS // 6))[:PAGE_CHARS] for _ in range(PAGES)]
    sources = [
        Source(id=f"s1-{at}", url=f"https://page{at}.test/", title="", texts=(text,)) for at, text in enumerate(pages)
    ]
    claims = []
    for at in range(QUOTES):
        page = pages[at % PAGES]
        start = chance.randrange(len(page) - QUOTE_CHARS)
        quote = page[start : start + QUOTE_CHARS] + (" misquoted" if at < MISQUOTED else "")
        claims.append(Claim(text="it is so", source_id=f"s1-{at % PAGES}", quote=quote))
    began = time.perf_counter()
    checker = ClaimChecker(sources)
    verified = sum(checker.check(claim)[0].check is Check.VERIFIED for claim in claims)
    took_s = time.perf_counter() - began
    figures = {"quotes": QUOTES, "pages": PAGES, "verified": verified, "took_s": round(took_s, 3), "bound_s": BOUND_S}
    print(json.dumps(figures, indent=2))
    return 0 if verified == QUOTES - MISQUOTED and took_s <= BOUND_S else 1


if __name__ == "__main__":
    sys.exit(main())
