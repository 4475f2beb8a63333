"""Claims held against what was seen of the sources that they name."""

from collections.abc import Iterable

from deer.evidence.figures import not_in_quote
from deer.evidence.quotes import check_quote, folded, nearest_wording
from deer.evidence.register import by_any_id
from deer.models import Check, CheckedClaim, Claim, Source, full

MAX_WORDING_CHARS = 400
MAX_WORDINGS = 5
"""Claims that are told the true wording: looking for it takes longer than all else."""


class ClaimChecker:
    """Checks claims on some sources, whose texts must be resolved."""

    def __init__(self, sources: Iterable[Source]) -> None:
        known = tuple(sources)
        self._ids = {name: source.id for name, source in by_any_id(known).items()}
        self._texts = {source.id: [full(text) for text in source.seen] for source in known}
        self._wordings_left = MAX_WORDINGS
        self._folded = {source_id: list(map(folded, texts)) for source_id, texts in self._texts.items()}

    def check(self, claim: Claim) -> tuple[CheckedClaim, str]:
        """A claim with what became of its check, and in words for its writer what there is to mend, if anything.

        It is verified when its quote stands in its source and has every figure and name of it.
        """
        source_id = self._ids.get(claim.source_id, "")
        doubt = self._doubt(claim, source_id)
        is_borne = bool(source_id and claim.quote) and not doubt
        check = Check.VERIFIED if is_borne else Check.UNVERIFIED
        return CheckedClaim(text=claim.text, source_id=source_id, quote=claim.quote, check=check), doubt

    def _doubt(self, claim: Claim, source_id: str) -> str:
        if not claim.source_id and not claim.quote:
            return ""  # said to rest on nothing: there is nothing to mend
        if not source_id:
            return f"there is no source {claim.source_id!r}"
        if not claim.quote:
            return ""
        if check_quote(claim.quote, self._folded[source_id]) is not Check.VERIFIED:
            return f"its quote does not stand in {source_id}{self._nearest(claim.quote, source_id)}"
        missing = not_in_quote(claim.text, claim.quote)
        return f"its quote does not have: {', '.join(missing)}" if missing else ""

    def _nearest(self, quote: str, source_id: str) -> str:
        if not self._wordings_left:
            return ""
        self._wordings_left -= 1
        nearest = nearest_wording(quote, self._texts[source_id])
        return f"; the nearest words there are: {nearest[:MAX_WORDING_CHARS]}" if nearest else ""
