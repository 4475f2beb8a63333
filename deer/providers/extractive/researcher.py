"""The researcher without a model: search, read the best hits, submit the sentences that answer."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from deer.models import Claim, StepBrief, full
from deer.providers.extractive.descriptions import described_queries
from deer.providers.extractive.facets import names_other_side
from deer.providers.extractive.phrases import Phrases, phrases_for
from deer.providers.extractive.ranking import AMONG_SOURCES, WITHIN_ARTICLE, SeenText, answering_claims, overlaps
from deer.providers.extractive.repetition import without_repetition
from deer.providers.extractive.transcript import SeenHit, Transcript
from deer.providers.terms import terms

MAX_QUERIES = 3
MAX_PAGES_READ = 2
MAX_CLAIMS = 8
_QUERY_CHARS = 400
_OVERLAP_SHARE = 0.5


@dataclass(frozen=True)
class Searches:
    """Searches to make, all at once."""

    queries: tuple[str, ...]


@dataclass(frozen=True)
class Reads:
    """Pages to read, all at once."""

    urls: tuple[str, ...]


@dataclass(frozen=True)
class Submission:
    """The end of a step."""

    summary: str
    claims: tuple[Claim, ...]


def next_move(brief: StepBrief, seen: Transcript, offered: Collection[str]) -> Searches | Reads | Submission:
    """What the researcher does next, of the tools offered. Each of searching and reading happens in one turn."""
    queries = step_queries(brief)
    if "web_search" in offered and not seen.called.get("web_search"):
        return Searches(tuple(queries))
    if (
        "read_page" in offered
        and not seen.called.get("read_page")
        and (urls := _worth_reading(brief, queries, seen.hits))
    ):
        return Reads(tuple(urls))
    return _submission(brief, queries, seen)


def step_queries(brief: StepBrief) -> list[str]:
    """What a step searches for. A step that shares no word with the question is asked together with it."""
    queries = described_queries(brief.step.title, brief.step.description, brief.question, brief.locale)
    if not queries:
        text = f"{brief.step.title} {brief.step.description}"
        is_apart = set(terms(text)).isdisjoint(terms(brief.question))
        queries = [f"{text} {brief.question}" if is_apart else text]
    return [" ".join(query.split())[:_QUERY_CHARS] for query in queries[:MAX_QUERIES]]


def _worth_reading(brief: StepBrief, queries: Sequence[str], hits: Sequence[SeenHit]) -> list[str]:
    """First what the step is named after, then the best hits of each query that share words with it, two at least."""
    urls = {hit.url: None for hit in hits if hit.url and _is_named(hit.title, brief)}
    for query in queries:
        overlap = {hit.id: overlaps(query, f"{hit.title} {hit.summary}") for hit in hits}
        useful = [hit for hit in hits if overlap[hit.id] > 0 and hit.url]
        ranked = sorted(useful, key=lambda hit: -(_OVERLAP_SHARE * overlap[hit.id] + hit.score))
        new = [hit.url for hit in ranked if hit.url not in urls]
        urls.update(dict.fromkeys(new[: MAX_PAGES_READ if len(queries) == 1 else 1]))
    return list(urls)[: max(MAX_PAGES_READ, len(queries))]


def _submission(brief: StepBrief, queries: Sequence[str], seen: Transcript) -> Submission:
    phrases = phrases_for(brief.locale)
    texts = [*seen.texts(), *_background(brief)]
    strictness = AMONG_SOURCES
    if article := [text for text in texts if _is_named(text.title, brief)][:1]:
        texts, strictness = article, WITHIN_ARTICLE
    found: list[Claim] = []
    for query in queries:
        share = MAX_CLAIMS if len(queries) == 1 else MAX_CLAIMS // len(queries) + 1
        answers = answering_claims(query, texts, share, strictness)
        found.extend(claim for claim in answers if not names_other_side(brief.question, query, claim.text))
    if len(queries) > 1:
        found = _in_reading_order(found, texts)
    claims = tuple(without_repetition(found, set()))
    return Submission(summary_of(claims, phrases) or _nothing(seen, phrases), claims)


def _is_named(title: str, brief: StepBrief) -> bool:
    """Whether the step is named after a source of this title; long titles are cut in plans."""
    named = brief.step.title
    title = " ".join(title.split())
    return title.startswith(named[:-1]) if named.endswith("…") else title == named


def _in_reading_order(claims: list[Claim], texts: Sequence[SeenText]) -> list[Claim]:
    """What several queries found, source by source."""
    order = {claim.source_id: place for place, claim in reversed(list(enumerate(claims)))}
    text_of = {text.source_id: text.text for text in texts}
    return sorted(claims, key=lambda claim: (order[claim.source_id], text_of[claim.source_id].find(claim.quote)))


def _background(brief: StepBrief) -> list[SeenText]:
    return [SeenText(s.id, s.title, s.url, full(s.text), is_whole=False) for s in brief.background]


def summary_of(claims: Sequence[Claim], phrases: Phrases) -> str:
    """The claims as text, each with its source; empty when there are none."""
    if not claims:
        return ""
    sources = len({claim.source_id for claim in claims})
    wording = phrases.found if sources > 1 else phrases.found_in_one if len(claims) > 1 else phrases.found_one
    lead = wording.format(count=len(claims), sources=sources)
    return "\n".join((lead, *(f"- {claim.text} [{claim.source_id}]" for claim in claims)))


def _nothing(seen: Transcript, phrases: Phrases) -> str:
    if seen.errors and not seen.hits:
        return phrases.search_failed.format(error=seen.errors[0])
    return phrases.found_nothing
