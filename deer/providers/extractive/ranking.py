"""Choosing the sentences that answer: by the words they share with what is asked, rare words weighing more."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from deer.models import Claim
from deer.providers.asking import Asked, asked, asked_years, rarity, years_in
from deer.providers.extractive.sentences import MAX_QUOTE_CHARS, Sentence, closed, is_cjk, readable, sentences_of
from deer.providers.terms import terms

TITLE_JOINT = " — "
"""Stands between the title of a source and a sentence that does not say by itself what it is about."""

_LEAD_CHARS = 140

_HEADING_SHARE, _TITLE_SHARE, _TITLE_SHARE_OF_ROW = 0.6, 0.3, 0.5
"""A word that stands only in the heading, or only in the title, counts this much of one in the sentence."""

_NUMBER_BONUS, _ORDER_BONUS, _TOTAL_BONUS = 0.12, 0.1, 0.05
_LATER_PENALTY, _UNNAMED_PENALTY = 0.1, 0.2
_BESIDE_THE_FOCUS_SHARE, _ONLY_OF_SUBJECT_SHARE, _THIN_SHARE = 0.15, 0.4, 0.6
_THIN_COVERAGE = 0.35
_ANY = ""
"""Counts all candidates among the frequencies of terms."""

_MEASURE_BONUS = 0.25
_COMMON_SHARE = 0.25
"""A word in more than this share of the sentences names the subject that all of them have."""
_OTHER_LANGUAGE_PENALTY = 0.15
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
    is_article_chosen: bool


AMONG_SOURCES = Strictness(min_score=0.4, min_of_best=0.52, max_per_source=4, is_article_chosen=False)
"""For looking through whatever a search brought."""

WITHIN_ARTICLE = Strictness(min_score=0.2, min_of_best=0.2, max_per_source=8, is_article_chosen=True)
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
    heading: frozenset[str]
    title: frozenset[str]
    opening: frozenset[str]
    """Terms of the first sentence of its text, which often names what the whole text is about."""

    @property
    def in_context(self) -> frozenset[str]:
        """Its terms, with those of its heading and title."""
        return self.heading.union(self.title, self.own_terms)

    def names(self, names: frozenset[str]) -> bool:
        """Whether it, its heading or its title holds one of the names, if there are any."""
        return not names or not names.isdisjoint(self.in_context)

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
    years = asked_years(question)
    candidates = [candidate for seen in texts for candidate in _candidates(seen, years)]
    known = Counter(term for candidate in candidates for term in candidate.in_context)
    known[_ANY] = len(candidates)
    if not candidates or wanted.is_foreign(lambda term: known[term]):
        return []
    names = wanted.known_names(lambda term: known[term])
    frequency = Counter(term for candidate in candidates for term in set(candidate.own_terms))
    weights = {term: rarity(frequency[term], len(candidates)) for term in wanted.terms}
    score = _scorer(wanted, question, weights.__getitem__, frozenset(term for term in wanted.numbers if known[term]))
    scored = [
        (
            score(c) * _fitness(c, wanted, weights.__getitem__, known, strictness)
            - _penalty(c, wanted, names, strictness),
            c,
        )
        for c in candidates
        if c.is_about(names)
    ]
    best = max((value for value, _ in scored), default=0.0)
    enough = max(wanted.needed(strictness.min_score), best * strictness.min_of_best)
    good = [(value, candidate) for value, candidate in scored if value >= enough]
    good.sort(key=lambda pair: -pair[0])  # stable: equal ones stay in the order in which they were read
    chosen = _distinct(good, limit, strictness.max_per_source)
    return [_claim(candidate, wanted, names) for candidate in _in_reading_order(chosen)]


def _fitness(
    candidate: _Candidate, wanted: Asked, weight: Callable[[str], float], known: Counter[str], strictness: Strictness
) -> float:
    """The share of its score that a candidate keeps: little when it says of the subject what was not asked."""
    if wanted.focus and wanted.focus.isdisjoint(candidate.in_context):
        return _BESIDE_THE_FOCUS_SHARE
    if not wanted.meets_conditions(candidate.in_context):
        return _ONLY_OF_SUBJECT_SHARE
    if wanted.focus and not strictness.is_article_chosen:
        subject = [term for term in wanted.terms if known[term] and term not in wanted.focus | wanted.weak]
        tells_apart = max(subject, key=weight, default=None)
        return _THIN_SHARE if tells_apart and tells_apart not in candidate.in_context else 1.0
    if strictness.is_article_chosen:
        return 1.0
    if _lacks_measure(candidate, wanted, known):
        return _ONLY_OF_SUBJECT_SHARE
    if _gives_measure(candidate, wanted):
        return 1.0
    said = candidate.heading.union(candidate.own_terms)
    counted = {term for term in wanted.terms if term not in wanted.weak or (term in wanted.numbers and known[term])}
    beyond_title = counted - candidate.title
    if beyond_title and beyond_title.isdisjoint(said):
        return _ONLY_OF_SUBJECT_SHARE
    return 1.0 if wanted.coverage(said, weight) >= _THIN_COVERAGE else _THIN_SHARE


def _gives_measure(candidate: _Candidate, wanted: Asked) -> bool:
    """Whether a candidate has a figure in the unit of what is measured, and it or its title says what that is."""
    return not wanted.measures.isdisjoint(candidate.in_context) and wanted.gives_measure(candidate.text)


def _lacks_measure(candidate: _Candidate, wanted: Asked, known: Counter[str]) -> bool:
    """Whether a candidate has nothing of what is measured and, of the rest, only words that most of them have."""
    if not any(known[term] for term in wanted.measures) or not wanted.measures.isdisjoint(candidate.in_context):
        return False
    shared = [term for term in wanted.terms if term not in wanted.weak and term in candidate.in_context]
    return all(known[term] > _COMMON_SHARE * known[_ANY] for term in shared)


def _penalty(candidate: _Candidate, wanted: Asked, names: frozenset[str], strictness: Strictness) -> float:
    """What a candidate loses for another language than the question's, and for leaving its name out."""
    penalty = 0.0
    if is_cjk(candidate.text) != is_cjk("".join(wanted.terms)):
        penalty += _OTHER_LANGUAGE_PENALTY
    if not candidate.names(names) and (candidate.sentence.is_row or not strictness.is_article_chosen):
        penalty += _UNNAMED_PENALTY
    return penalty


def overlaps(question: str, text: str) -> float:
    """The share of what is asked that a text holds, all words weighing the same."""
    return asked(question).coverage(frozenset(terms(text)), lambda term: 1.0)


def _candidates(seen: SeenText, years: frozenset[str]) -> Iterator[_Candidate]:
    """The sentences and rows of a text, without those of other years than the asked ones."""
    found = sentences_of(seen.text, is_csv=seen.url.lower().endswith(".csv"))
    found = [sentence for sentence in found if sentence.text.rstrip(".。") != seen.title]
    if found and not seen.is_whole and found[-1].quote[-1] not in ".!?。！？|":
        found.pop()
    title_terms = frozenset(terms(seen.title))
    opening = frozenset(terms(found[0].text)) if found else frozenset()
    for sentence in found:
        quote, text = sentence.quote, sentence.text
        said_of = years_in(text) or years_in(sentence.extended)
        if years and said_of and said_of.isdisjoint(years):
            continue
        # A figure behind the sentence that names the asked year is one of that year.
        inherits = bool(years) and not years_in(text) and bool(said_of) and any(c.isdigit() for c in text)
        leans = not sentence.is_row and _LEANS_ON_EARLIER.match(text)
        if (leans or inherits) and 0 < len(sentence.extended) <= MAX_QUOTE_CHARS:
            quote, text = sentence.extended, closed(readable(sentence.extended))
        own = tuple(terms(text))
        if own:
            heading = frozenset(terms(sentence.heading))
            yield _Candidate(seen, sentence, quote, text, own, heading, title_terms, opening)


def _scorer(
    wanted: Asked, question: str, weight: Callable[[str], float], known_numbers: frozenset[str]
) -> Callable[[_Candidate], float]:
    """How well a candidate answers: the share of what is asked that it covers, with a little for form."""
    asks_number = bool(_ASKS_NUMBER.search(question))
    neighbours = set(zip(wanted.terms, wanted.terms[1:], strict=False))

    def score(candidate: _Candidate) -> float:
        gives_measure = _gives_measure(candidate, wanted)
        # A figure of what is measured needs no more words where its title or heading says of what.
        own = set(candidate.in_context if gives_measure else candidate.own_terms)
        covered = wanted.coverage(own, weight, known_numbers)
        if not covered:
            return 0.0
        with_heading = wanted.coverage(own | candidate.heading, weight, known_numbers)
        with_title = wanted.coverage(candidate.in_context, weight, known_numbers)
        title_share = _TITLE_SHARE_OF_ROW if candidate.sentence.is_row else _TITLE_SHARE
        value = covered + _HEADING_SHARE * (with_heading - covered) + title_share * (with_title - with_heading)
        bonus = 1.0
        if asks_number and any(c.isdigit() for c in candidate.text):
            bonus += _NUMBER_BONUS
        if gives_measure:
            bonus += _MEASURE_BONUS
        if neighbours:
            kept = neighbours.intersection(zip(candidate.own_terms, candidate.own_terms[1:], strict=False))
            bonus += _ORDER_BONUS * len(kept) / len(neighbours)
        if candidate.sentence.is_row and _TOTAL.match(candidate.text):
            bonus += _TOTAL_BONUS
        if _LEANS_ON_EARLIER.match(candidate.text):
            bonus -= _LATER_PENALTY
        return value * bonus

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
    if one.quote == other.quote:
        return True
    if one.sentence.is_row and other.sentence.is_row:
        return False
    first, second = set(terms(one.sentence.text)), set(terms(other.sentence.text))
    return len(first & second) > _TOO_ALIKE * len(first | second)


def _in_reading_order(chosen: list[_Candidate]) -> list[_Candidate]:
    order = {candidate.seen.source_id: place for place, candidate in reversed(list(enumerate(chosen)))}
    read = sorted(chosen, key=lambda c: (order[c.seen.source_id], c.sentence.position))
    best = chosen[0] if chosen else None
    if best is None or (best.sentence.is_row and sum(c.sentence.is_row for c in chosen) > 1):
        return read  # a row is not torn out of its table
    return [best, *(candidate for candidate in read if candidate is not best)]


def _claim(candidate: _Candidate, wanted: Asked, names: frozenset[str]) -> Claim:
    """The claim of a candidate, its text led in by the title where that alone says what it is about."""
    text = candidate.text
    own = set(candidate.own_terms)
    if candidate.title & set(wanted.terms) and own.isdisjoint(candidate.title) and own.isdisjoint(names):
        text = f"{candidate.seen.title[:_LEAD_CHARS]}{TITLE_JOINT}{text}"
    return Claim(text=text, source_id=candidate.seen.source_id, quote=candidate.quote)
