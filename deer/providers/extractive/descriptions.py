"""Descriptions of research steps: the planner writes into them what the researcher and the reporter read back."""

from deer.providers.extractive.facets import QUERY_SEPARATOR, Facet, focused_query
from deer.providers.extractive.phrases import Phrases, phrases_for

_MAX_CHARS = 1_000


def description_of(facet: Facet, question: str, phrases: Phrases) -> str:
    """What a step is to do, in words that do not repeat the question."""
    if facet.is_article:
        return phrases.ask_article
    if facet.query == " ".join(question.split()):
        return phrases.answer_question
    return (phrases.find + facet.query)[:_MAX_CHARS]


def asks_article(description: str, locale: str) -> bool:
    """Whether a step asks the source that it is named after about the question."""
    return description == phrases_for(locale).ask_article


def described_queries(title: str, description: str, question: str, locale: str) -> list[str]:
    """What a step of this planner searches for; empty for a description that somebody else wrote."""
    phrases = phrases_for(locale)
    if description == phrases.ask_article:
        return [focused_query(title.removesuffix("…"), question)]
    if description == phrases.answer_question:
        return [question]
    if not description.startswith(phrases.find):
        return []
    return [query.strip() for query in description.removeprefix(phrases.find).split(QUERY_SEPARATOR) if query.strip()]
