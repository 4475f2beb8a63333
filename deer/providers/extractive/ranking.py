"""Choosing the sentences that answer: by the words they share with what is asked, rare words weighing more."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from deer.models import Claim
from deer.providers.asking import Asked, asked, rarity
from deer.providers.extractive.sentences import MAX_QUOTE_CHARS, Sentence, closed, readable, sentences_of
from deer.providers.terms import terms

_SUBJECT_SHARE = 0.6
"""A word that stands only in the heading or title above a sentence counts this much of one in the sentence."""
_MIN_SCORE = 0.4
_MIN_OF_BEST = 0.5
_MAX_PER_SOURCE = 4
_NUMBER_BONUS, _ORDER_BONUS, _LATER_PENALTY = 0.12, 0.1, 0.1
_TOO_ALIKE = 0.75

_ASKS_NUMBER = re.compile(
    r"\bhow (?:much|many|high|low|long|large|big|loud|fast|often|far|deep|old|heavy|tall|wide)\b"
    r"|\b(?:what|which) (?:is|are|was|were) the\b|\b(?:cost|price|number|figure|share|rate|size)s?\b"
    r"|多少|多大|多高|多长|多久|多快|几|价格|费用|成本|数字|数据|比例",
    re.IGNORECASE,
)
_LEANS_ON_EARLIER = re.compile(
    r"(?:It|Its|This|That|These|Those|They|Their|Them|Such|He|She|His|Her|Both|But|And|However|So|Then|Therefore|Thus|"
    r"Instead|Otherwise|For this|For that|In this|In that|As a result)\b"
    r"|[它他她这那其该]|但|因此|所以|于是|此外|另外|同时|不过|然而|否则"
)


@dataclass(frozen=True)
class SeenText:
    """A text of a source that a step has seen. `is_whole` is False for the summary of a hit, which may end anywhere."""

    source_id: str
    title: str
    url: str
    text: str
    is_whole: bool = True


@dataclass(frozen=True)
class _Candidate:
    seen: SeenText
    sentence: Sentence
    quote: str
    text: str
    own_terms: tuple[str, ...]
    context: frozenset[str]
    """Terms of the title and the heading that it stands under."""


def answering_claims(question: str, texts: Sequence[SeenText], limit: int) -> list[Claim]:
    """Sentences of the texts that answer, as claims with verbatim quotes; empty when none does.

    The best source comes first, the sentences of a source in their order.
    """
    wanted = asked(question)
    candidates = [candidate for seen in texts for candidate in _candidates(seen)]
    frequency = Counter(term for c in candidates for term in {*c.own_terms, *c.context})
    if not candidates or wanted.is_foreign(lambda term: frequency[term]):
        return []
    names = wanted.known_names(lambda term: frequency[term])
    score = _scorer(wanted, question, lambda term: rarity(frequency[term], len(candidates)))
    scored = [
        (score(candidate), candidate)
        for candidate in candidates
        if not names or not names.isdisjoint({*candidate.own_terms, *candidate.context})
    ]
    best = max((value for value, _ in scored), default=0.0)
    good = [(value, c) for value, c in scored if value >= max(wanted.needed(_MIN_SCORE), _MIN_OF_BEST * best)]
    good.sort(key=lambda pair: -pair[0])  # stable: equal ones stay in the order in which they were read
    return [_claim(candidate, wanted) for candidate in _in_reading_order(_distinct(good, limit))]


def overlaps(question: str, text: str) -> float:
    """The share of what is asked that a text holds, all words weighing the same."""
    return asked(question).coverage(frozenset(terms(text)), lambda term: 1.0)


def _candidates(seen: SeenText) -> Iterator[_Candidate]:
    found = sentences_of(seen.text, is_csv=seen.url.lower().endswith(".csv"))
    if found and not seen.is_whole and found[-1].quote[-1] not in ".!?。！？|":
        found.pop()
    title_terms = terms(seen.title)
    for sentence in found:
        quote, text = sentence.quote, sentence.text
        leans = not sentence.is_row and _LEANS_ON_EARLIER.match(text)
        if leans and 0 < len(sentence.extended) <= MAX_QUOTE_CHARS:
            quote, text = sentence.extended, closed(readable(sentence.extended))
        own = tuple(terms(text))
        if own:
            yield _Candidate(seen, sentence, quote, text, own, frozenset((*title_terms, *terms(sentence.heading))))


def _scorer(wanted: Asked, question: str, weight: Callable[[str], float]) -> Callable[[_Candidate], float]:
    """How well a candidate answers: the share of what is asked that it covers, with a little for form."""
    asks_number = bool(_ASKS_NUMBER.search(question))
    neighbours = set(zip(wanted.terms, wanted.terms[1:], strict=False))

    def score(candidate: _Candidate) -> float:
        own = set(candidate.own_terms)
        covered = wanted.coverage(own, weight)
        if not covered:
            return 0.0
        value = covered + _SUBJECT_SHARE * (wanted.coverage(own | candidate.context, weight) - covered)
        if asks_number and any(c.isdigit() for c in candidate.text):
            value += _NUMBER_BONUS
        if neighbours:
            kept = neighbours.intersection(zip(candidate.own_terms, candidate.own_terms[1:], strict=False))
            value += _ORDER_BONUS * len(kept) / len(neighbours)
        if _LEANS_ON_EARLIER.match(candidate.text):
            value -= _LATER_PENALTY
        return value

    return score


def _distinct(ranked: Sequence[tuple[float, _Candidate]], limit: int) -> list[_Candidate]:
    chosen: list[_Candidate] = []
    per_source: Counter[str] = Counter()
    for _, candidate in ranked:
        if len(chosen) == limit:
            break
        if per_source[candidate.seen.source_id] < _MAX_PER_SOURCE and not any(_alike(candidate, c) for c in chosen):
            chosen.append(candidate)
            per_source[candidate.seen.source_id] += 1
    return chosen


def _alike(one: _Candidate, other: _Candidate) -> bool:
    if one.quote in other.quote or other.quote in one.quote:
        return True
    if one.sentence.is_row and other.sentence.is_row:
        return False
    first, second = set(one.own_terms), set(other.own_terms)
    return len(first & second) > _TOO_ALIKE * len(first | second)


def _in_reading_order(chosen: Sequence[_Candidate]) -> list[_Candidate]:
    order = {candidate.seen.source_id: place for place, candidate in reversed(list(enumerate(chosen)))}
    return sorted(chosen, key=lambda c: (order[c.seen.source_id], c.sentence.position))


def _claim(candidate: _Candidate, wanted: Asked) -> Claim:
    """The claim of a candidate, its text led in by the title where that alone says what it is about."""
    text = candidate.text
    title_terms = set(terms(candidate.seen.title))
    if title_terms & set(wanted.terms) and not title_terms & set(candidate.own_terms):
        text = f"{candidate.seen.title} — {text}"
    return Claim(text=text, source_id=candidate.seen.source_id, quote=candidate.quote)
