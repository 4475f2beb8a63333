"""The analyst without a model: joins the findings of earlier steps and sets figures of one unit side by side."""

from collections.abc import Iterable, Sequence

from deer.models import Check, CheckedClaim, Claim, FindingBrief, StepBrief
from deer.providers.extractive.figures import Figure, comparable_figures, figure_table, figures_of
from deer.providers.extractive.phrases import phrases_for
from deer.providers.extractive.researcher import Submission

MAX_CLAIMS = 30
"""As many as a finding may have."""


def compare_findings(brief: StepBrief) -> Submission:
    """The claims of the findings that are comparable, else all of them; their quotes and sources stay as they were."""
    phrases = phrases_for(brief.locale)
    claims = distinct_claims(brief.findings)
    if not claims:
        return Submission(phrases.nothing_to_compare, ())
    if figures := figures_side_by_side(brief.question, brief.step.title, claims):
        sources = {figure.source_id for same_unit in figures.values() for figure in same_unit}
        shown = {figure.unit for same_unit in figures.values() for figure in same_unit}
        summary = f"{phrases.side_by_side}\n\n{figure_table(figures, {}, phrases)}"
        return Submission(
            summary, tuple(c for c in claims if c.source_id in sources and shown & _units(c))[:MAX_CLAIMS]
        )
    sources = {claim.source_id for claim in claims}
    wording = phrases.joined if len(sources) > 1 else phrases.joined_from_one
    return Submission(wording.format(count=len(claims), sources=len(sources)), claims[:MAX_CLAIMS])


def figures_side_by_side(question: str, title: str, claims: Sequence[Claim]) -> dict[str, list[Figure]]:
    """Figures to compare, by unit: those that the question asks for, else those that the title of the step does."""
    return comparable_figures(question, claims) or comparable_figures(title, claims)


def distinct_claims(findings: Iterable[FindingBrief]) -> tuple[Claim, ...]:
    """The claims of findings whose quotes were verified, each quote once."""
    found: dict[str, Claim] = {}
    for claim in verified(claim for finding in findings for claim in finding.claims):
        found.setdefault(claim.quote, Claim(text=claim.text, source_id=claim.source_id, quote=claim.quote))
    return tuple(found.values())


def verified(claims: Iterable[CheckedClaim]) -> Sequence[CheckedClaim]:
    """The claims whose quotes stand in their sources."""
    return [claim for claim in claims if claim.check is Check.VERIFIED and claim.source_id]


def _units(claim: Claim) -> set[str]:
    return {figure.unit for figure in figures_of(claim)}
