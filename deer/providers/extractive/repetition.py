"""Saying each sentence once: claims whose quotes overlap are cut to what is new."""

from collections.abc import Iterable

from deer.models import Claim
from deer.providers.extractive.ranking import TITLE_JOINT
from deer.providers.extractive.sentences import closed, readable, sentences_of


def without_repetition(claims: Iterable[Claim], said: set[str]) -> list[Claim]:
    """The claims without sentences that stand in `said`, to which their sentences are added.

    A quote may hold a sentence and the one before it; when only its end is new, the claim keeps that end.
    """
    kept: list[Claim] = []
    for claim in claims:
        sentences = sentences_in(claim)
        new = [sentence for sentence in sentences if sentence not in said]
        if new and new == sentences:
            kept.append(claim)
        elif new and claim.quote.endswith(new[-1]):
            kept.append(_end_of(claim, claim.quote[claim.quote.index(new[0]) :]))
        said.update(sentences)
    return kept


def sentences_in(claim: Claim) -> list[str]:
    """The sentences of a claim's quote, to the letter."""
    return [sentence.quote for sentence in sentences_of(claim.quote)] or [claim.quote]


def _end_of(claim: Claim, quote: str) -> Claim:
    lead, joint, _ = claim.text.partition(TITLE_JOINT)
    text = closed(readable(quote))
    return Claim(text=f"{lead}{joint}{text}" if joint else text, source_id=claim.source_id, quote=quote)
