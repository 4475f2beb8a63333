"""The source register, the check of claims and their quotes, and the citations of a report."""

from deer.evidence.addresses import belongs_to, normalised_address
from deer.evidence.citations import CitedText, renumber
from deer.evidence.claims import ClaimChecker
from deer.evidence.figures import not_in_quote
from deer.evidence.quotes import check_quote, folded, nearest_wording
from deer.evidence.register import SourceRegister, by_any_id, shown_source

__all__ = [
    "CitedText",
    "ClaimChecker",
    "SourceRegister",
    "belongs_to",
    "by_any_id",
    "check_quote",
    "folded",
    "nearest_wording",
    "normalised_address",
    "not_in_quote",
    "renumber",
    "shown_source",
]
