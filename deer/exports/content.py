"""What every export of a report is made of: the text, its sources, and the quotes that stand behind its citations."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from deer.evidence import normalised_address
from deer.models import CheckedClaim, RunStatus

MAX_QUOTES_SHOWN = 3
"""Of a source, beside one citation."""

_WORD = re.compile(r"[^\W\d_]{3,}|\d[\d.,]*|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEADING = re.compile(r"^#[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


@dataclass(frozen=True)
class Reference:
    """A source that the report cites, with the claims that rest on it."""

    number: int
    url: str
    title: str
    claims: tuple[CheckedClaim, ...] = ()

    @property
    def link(self) -> str | None:
        """The address to follow; None where it is no web page."""
        return self.url if _is_web(self.url) else None

    def quotes_for(self, passage: str) -> tuple[CheckedClaim, ...]:
        """The claims behind a passage that cites the source: those whose words are nearest to it, each quote once."""
        words = _words(passage)
        quoted = {claim.quote: claim for claim in reversed(self.claims) if claim.quote.strip()}
        shared = {quote: len(words & _words(f"{claim.text} {quote}")) for quote, claim in quoted.items()}
        nearest = max(shared.values(), default=0)
        found = [quote for quote in quoted if 2 * shared[quote] >= nearest]
        found.sort(key=lambda quote: -shared[quote])
        return tuple(quoted[quote] for quote in found[:MAX_QUOTES_SHOWN])


@dataclass(frozen=True)
class ReportContent:
    """A report as it is exported. `finished_on`: the day of its last hand-off, empty when there was none."""

    run_id: str
    locale: str
    markdown: str
    title: str
    finished_on: str = ""
    references: Mapping[int, Reference] = field(default_factory=dict)
    """By number."""
    seen: Mapping[str, str] = field(default_factory=dict)
    """Addresses of web pages that the run has seen, by their normalised form."""

    def seen_address(self, address: str) -> str | None:
        """The address under which the run saw what a link leads to; None for all that may not be followed.

        Never the link's own wording: what was added to it could carry something away.
        """
        return self.seen.get(normalised_address(address)) if _is_web(address) else None


def content_of(status: RunStatus, markdown: str) -> ReportContent:
    """The content of a run's report. `markdown`: the finished text, citations as numbers."""
    markdown = printable(markdown)
    claims: dict[str, list[CheckedClaim]] = {}
    for claim in status.report.claims if status.report else ():
        shown = claim.model_copy(update={"quote": printable(claim.quote)})
        claims.setdefault(claim.source_id, []).append(shown)
    heading = _HEADING.search(markdown)
    return ReportContent(
        run_id=status.id,
        locale=status.locale or "en-US",
        markdown=markdown,
        title=heading[1] if heading else printable(" ".join(status.question.split())),
        finished_on=f"{status.handoffs[-1].at:%Y-%m-%d}" if status.handoffs else "",
        references={
            source.number: Reference(
                source.number, printable(source.url), printable(source.title), tuple(claims.get(source.id, ()))
            )
            for source in status.sources
            if source.number is not None
        },
        seen={
            normalised_address(source.url): printable(source.url) for source in status.sources if _is_web(source.url)
        },
    )


def printable(text: str) -> str:
    """A text without the control characters and halves of signs that no document format can hold."""
    return _UNPRINTABLE.sub("", text)


def _is_web(address: str) -> bool:
    return address.lower().startswith(("http://", "https://"))


def _words(text: str) -> frozenset[str]:
    """Words, numbers and single signs of scripts that put no space between words."""
    return frozenset(_WORD.findall(text.casefold()))
