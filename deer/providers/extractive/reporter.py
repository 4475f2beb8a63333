"""The reporter without a model: the quoted sentences under the titles of their steps, each with its source."""

from collections.abc import Sequence

from deer.models import Claim, FindingBrief, ReporterBrief, StepStatus, StepType, full
from deer.providers.extractive.analyst import distinct_claims, verified
from deer.providers.extractive.figures import comparable_figures, figure_table
from deer.providers.extractive.phrases import Phrases, phrases_for
from deer.providers.extractive.ranking import SeenText, answering_claims
from deer.providers.extractive.sentences import is_cjk, readable

_SECTION_FROM_SOURCES = 8


def write_report(brief: ReporterBrief) -> str:
    """The report as Markdown. Sentences that state something end with `[source id]`; none is written twice."""
    phrases = phrases_for(brief.locale)
    title = brief.plan.title if brief.plan else brief.question
    sections, empty = _sections(brief, phrases)
    parts = [f"# {_heading(title)}", phrases.notice]
    if not sections:
        looked_for = [phrases.looked_for, _bullets(empty)] if empty else []
        return "\n\n".join((*parts, phrases.not_covered, *looked_for)) + "\n"
    parts.extend(f"## {_heading(heading)}\n\n{body}" for heading, body in sections)
    if empty:
        parts.append(f"## {phrases.gaps}\n\n{phrases.gap}\n\n{_bullets(empty)}")
    return "\n\n".join(parts) + "\n"


def _sections(brief: ReporterBrief, phrases: Phrases) -> tuple[list[tuple[str, str]], list[str]]:
    """Headings with their text, and the titles of steps that looked for something and found nothing."""
    sections: list[tuple[str, str]] = []
    empty: list[str] = []
    written: set[str] = set()
    citable = {source.id for source in brief.sources}
    for finding in brief.findings:
        if _is_analysis(brief, finding):
            continue
        claims = [claim for claim in verified(finding.claims) if claim.source_id in citable]
        new = [claim for claim in claims if not _is_written(claim, written)]
        written.update(claim.quote for claim in new)
        if new:
            sections.append((finding.title, _paragraphs(new)))
        elif not claims and finding.status is StepStatus.DONE:
            empty.append(finding.title)
    if not sections and (claims_of_sources := _from_sources(brief)):
        sections.append((phrases.direct_answer, _paragraphs(claims_of_sources)))
        return sections, []
    if table := _table(brief, phrases):
        sections.append((phrases.conclusion, table))
    return sections, empty


def _is_analysis(brief: ReporterBrief, finding: FindingBrief) -> bool:
    steps = brief.plan.steps if brief.plan else ()
    return any(step.id == finding.step_id and step.step_type is not StepType.RESEARCH for step in steps)


def _is_written(claim: Claim, written: set[str]) -> bool:
    return any(claim.quote in quote or quote in claim.quote for quote in written)


def _from_sources(brief: ReporterBrief) -> list[Claim]:
    """What the sources themselves answer, where no step of research was done."""
    if brief.plan and any(step.step_type is StepType.RESEARCH for step in brief.plan.steps):
        return []
    texts = [SeenText(s.id, s.title, s.url, full(s.text), is_whole=False) for s in brief.sources]
    return answering_claims(brief.question, texts, _SECTION_FROM_SOURCES)


def _paragraphs(claims: Sequence[Claim]) -> str:
    """A paragraph for each source, table rows as a list."""
    blocks: list[str] = []
    in_paragraph = ""
    for claim in claims:
        sentence = _cited(claim)
        if _is_row(claim):
            joint = "\n" if blocks and blocks[-1].startswith("- ") and in_paragraph == claim.source_id else None
            blocks[-1:] = [f"{blocks[-1]}\n- {sentence}"] if joint else [*blocks[-1:], f"- {sentence}"]
        elif in_paragraph == claim.source_id and not blocks[-1].startswith("- "):
            blocks[-1] += ("" if is_cjk(sentence) else " ") + sentence
        else:
            blocks.append(sentence)
        in_paragraph = claim.source_id
    return "\n\n".join(blocks)


def _cited(claim: Claim) -> str:
    """The sentence with its marker; characters at its start that Markdown would read as markup are defused."""
    text = claim.text.lstrip("#>-*+=|~` \t")
    return f"{text}{'' if is_cjk(text) else ' '}[{claim.source_id}]"


def _is_row(claim: Claim) -> bool:
    """Whether the claim was put together from the cells of a table, so that its text is not its quote."""
    return readable(claim.quote).rstrip(" .;,:。；，：") not in claim.text


def _table(brief: ReporterBrief, phrases: Phrases) -> str:
    figures = comparable_figures(distinct_claims(f for f in brief.findings if not _is_analysis(brief, f)))
    if not figures:
        return ""
    titles = {source.id: source.title for source in brief.sources}
    return f"{phrases.side_by_side}\n\n{figure_table(figures, titles, phrases)}"


def _bullets(titles: Sequence[str]) -> str:
    return "\n".join(f"- {_heading(title)}" for title in dict.fromkeys(titles))


def _heading(text: str) -> str:
    return " ".join(text.replace("[", "(").replace("]", ")").split()).lstrip("#> ")
