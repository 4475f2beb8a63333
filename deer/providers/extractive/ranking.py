"""Choosing the sentences that answer: by the words they share with what is asked, rare words weighing more."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from deer.models import Claim
from deer.providers.asking import Asked, asked, rarity
from deer.providers.extractive.sentences import MAX_QUOTE_CHARS, Sentence, closed, readable, sentences_of
from deer.providers.terms import terms

TITLE_JOINT = " — "
"""Stands between the title of a source and a sentence that does not say by itself what it is about."""

_SUBJECT_SHARE = 0.6
"""A word that stands only in the heading or title above a sentence counts this much of one in the sentence."""
_NUMBER_BONUS, _ORDER_BONUS, _TOTAL_BONUS = 0.12, 0.1, 0.05
_LATER_PENALTY, _UNNAMED_PENALTY = 0.1, 0.2
_TOO_ALIKE = 0.75

_ASKS_NUMBER = re.compile(
    r"\bhow (?:much|many|high|low|long|large|big|loud|fast|often|far|deep|old|heavy|tall|wide)\b"
    r"|\b(?:what|which) (?:is|are|was|were) the\b|\b(?:cost|price|number|figure|share|rate|size)s?\b"
    r"|多少|多大|多高|多长|多久|多快|几|价格|费用|成本|数字|数据|比例",
    re.IGNORECASE,
)
_TOTAL = re.compile(r"(?:total|sum|overall|average|mean)\b|合计|总计|总共|平均", re.IGNORECASE)
_LEANS_ON_EARLIER = re.compile(
    r"(?:It|Its|This|That|These|Those|They|Their|Them|Such|He|She|His|Her|Both|But|And|However|So|Then|Therefore|Thus|"
    r"Instead|Otherwise|For this|For that|In this|In that|As a result)\b"
    r"|[它他她这那其该]|但|因此|所以|于是|此外|另外|同时|不过|然而|否则"
)


@dataclass(frozen=True)
class Strictness:
    """How well a sentence must fit: by itself, and as a share of the best one. Scores are about 0 to 1.2."""

    min_score: float
    min_of_best: float
    max_per_source: int
    may_leave_name_out: bool


AMONG_SOURCES = Strictness(min_score=0.4, min_of_best=0.52, max_per_source=4, may_leave_name_out=False)
"""For looking through whatever a search brought."""

WITHIN_ARTICLE = Strictness(min_score=0.2, min_of_best=0.2, max_per_source=8, may_leave_name_out=True)
"""For an article that was chosen for its subject: its sentences need not name it, rows of its tables must."""


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
    opening: frozenset[str]
    """Terms of the first sentence of its text, which often names what the whole text is about."""

    def shares_words_with(self, other: "_Candidate") -> bool:
        """Whether both quotes hold the same place of the same text."""
        return self.seen is other.seen and self.start < other.end and other.start < self.end

    @property
    def end(self) -> int:
        return self.sentence.position + len(self.sentence.quote)

    @property
    def start(self) -> int:
        return self.end - len(self.quote)

    def names(self, names: frozenset[str]) -> bool:
        """Whether it, its heading or its title holds one of the names, if there are any."""
        return not names or not names.isdisjoint((*self.own_terms, *self.context))

    def is_about(self, names: frozenset[str]) -> bool:
        """Whether it may be about one of the names: it has it, or its text opens with it."""
        return self.names(names) or not names.isdisjoint(self.opening)


def answering_claims(
    question: str, texts: Sequence[SeenText], limit: int, strictness: Strictness = AMONG_SOURCES
) -> list[Claim]:
    """Sentences of the texts that answer, as claims with verbatim quotes; empty when none does.

    The best sentence comes first, then its source, then the others, the sentences of each in their order.
    """
    wanted = asked(question)
    candidates = [candidate for seen in texts for candidate in _candidates(seen)]
    frequency = Counter(term for c in candidates for term in {*c.own_terms, *c.context})
    if not candidates or wanted.is_foreign(lambda term: frequency[term]):
        return []
    names = wanted.known_names(lambda term: frequency[term])
    score = _scorer(wanted, question, lambda term: rarity(frequency[term], len(candidates)))
    scored = [(score(c) - _penalty(c, names, strictness), c) for c in candidates if c.is_about(names)]
    best = max((value for value, _ in scored), default=0.0)
    enough = max(wanted.needed(strictness.min_score), best * strictness.min_of_best)
    good = [(value, candidate) for value, candidate in scored if value >= enough]
    good.sort(key=lambda pair: -pair[0])  # stable: equal ones stay in the order in which they were read
    chosen = _distinct(good, limit, strictness.max_per_source)
    return [_claim(candidate, wanted) for candidate in _in_reading_order(chosen)]


def _penalty(candidate: _Candidate, names: frozenset[str], strictness: Strictness) -> float:
    if candidate.names(names) or (strictness.may_leave_name_out and not candidate.sentence.is_row):
        return 0.0
    return _UNNAMED_PENALTY


def overlaps(question: str, text: str) -> float:
    """The share of what is asked that a text holds, all words weighing the same."""
    return asked(question).coverage(frozenset(terms(text)), lambda term: 1.0)


def _candidates(seen: SeenText) -> Iterator[_Candidate]:
    found = sentences_of(seen.text, is_csv=seen.url.lower().endswith(".csv"))
    if found and not seen.is_whole and found[-1].quote[-1] not in ".!?。！？|":
        found.pop()
    title_terms = terms(seen.title)
    opening = frozenset(terms(found[0].text)) if found else frozenset()
    for sentence in found:
        quote, text = sentence.quote, sentence.text
        leans = not sentence.is_row and _LEANS_ON_EARLIER.match(text)
        if leans and 0 < len(sentence.extended) <= MAX_QUOTE_CHARS:
            quote, text = sentence.extended, closed(readable(sentence.extended))
        own = tuple(terms(text))
        if own:
            context = frozenset((*title_terms, *terms(sentence.heading)))
            yield _Candidate(seen, sentence, quote, text, own, context, opening)


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
        if candidate.sentence.is_row and _TOTAL.match(candidate.text):
            value += _TOTAL_BONUS
        if _LEANS_ON_EARLIER.match(candidate.text):
            value -= _LATER_PENALTY
        return value

    return score


def _distinct(ranked: Sequence[tuple[float, _Candidate]], limit: int, per_source_limit: int) -> list[_Candidate]:
    chosen: list[_Candidate] = []
    per_source: Counter[str] = Counter()
    for _, candidate in ranked:
        if len(chosen) == limit:
            break
        has_room = per_source[candidate.seen.source_id] < per_source_limit
        if has_room and not any(_alike(candidate, other) for other in chosen):
            chosen.append(candidate)
            per_source[candidate.seen.source_id] += 1
    return chosen


def _alike(one: _Candidate, other: _Candidate) -> bool:
    if one.quote in other.quote or other.quote in one.quote or one.shares_words_with(other):
        return True
    if one.sentence.is_row and other.sentence.is_row:
        return False
    first, second = set(one.own_terms), set(other.own_terms)
    return len(first & second) > _TOO_ALIKE * len(first | second)


def _in_reading_order(chosen: list[_Candidate]) -> list[_Candidate]:
    order = {candidate.seen.source_id: place for place, candidate in reversed(list(enumerate(chosen)))}
    read = sorted(chosen, key=lambda c: (order[c.seen.source_id], c.sentence.position))
    best = chosen[0] if chosen else None
    if best is None or (best.sentence.is_row and sum(c.sentence.is_row for c in chosen) > 1):
        return read  # a row is not torn out of its table
    return [best, *(candidate for candidate in read if candidate is not best)]


def _claim(candidate: _Candidate, wanted: Asked) -> Claim:
    """The claim of a candidate, its text led in by the title where that alone says what it is about."""
    text = candidate.text
    title_terms = set(terms(candidate.seen.title))
    if title_terms & set(wanted.terms) and not title_terms & set(candidate.own_terms):
        text = f"{candidate.seen.title}{TITLE_JOINT}{text}"
    return Claim(text=text, source_id=candidate.seen.source_id, quote=candidate.quote)
