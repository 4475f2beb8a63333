"""The source register, the check of quotes, and the citations of a report."""

from deer.evidence.addresses import normalised_address
from deer.evidence.citations import CitedText, renumber
from deer.evidence.quotes import check_quote, folded
from deer.evidence.register import SourceRegister, by_any_id, shown_source

__all__ = [
    "CitedText",
    "SourceRegister",
    "by_any_id",
    "check_quote",
    "folded",
    "normalised_address",
    "renumber",
    "shown_source",
]
