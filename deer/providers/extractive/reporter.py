"""The reporter without a model: the quoted sentences under the titles of their steps, each with its source."""

from collections.abc import Sequence
from itertools import groupby

from deer.models import Claim, FindingBrief, ReporterBrief, StepStatus, StepType, full
from deer.providers.extractive.analyst import distinct_claims, verified
from deer.providers.extractive.facets import facets_of, focused_query
from deer.providers.extractive.figures import comparable_figures, figure_table
from deer.providers.extractive.phrases import Phrases, phrases_for
from deer.providers.extractive.planner import description_queries
from deer.providers.extractive.ranking import TITLE_JOINT, SeenText, answering_claims
from deer.providers.extractive.repetition import without_repetition
from deer.providers.extractive.sentences import is_cjk, readable

_SENTENCES_FROM_SOURCES = 6


def write_report(brief: ReporterBrief) -> str:
    """The report as Markdown. Sentences that state something end with `[source id]`; none is written twice."""
    phrases = phrases_for(brief.locale)
    title = brief.plan.title if brief.plan else brief.question
    sections, empty = _sections(brief, phrases)
    parts = [f"# {_heading(title)}", phrases.notice]
    if not sections:
        looked_for = [phrases.looked_for, _bullets(empty)] if empty else []
        return "\n\n".join((*parts, phrases.not_covered, *looked_for)) + "\n"
    written = [f"## {_heading(heading)}\n\n{body}" for heading, body in sections]
    if empty:
        gaps = f"## {phrases.gaps}\n\n{phrases.gap}\n\n{_bullets(empty)}"
        # A reader must not take what was found beside the question for its answer.
        written.insert(0 if brief.question in empty else len(written), gaps)
    parts.extend(written)
    return "\n\n".join(parts) + "\n"


def _sections(brief: ReporterBrief, phrases: Phrases) -> tuple[list[tuple[str, str]], list[str]]:
    """Headings with their text, and the titles of steps that looked for something and found nothing."""
    sections: list[tuple[str, str]] = []
    empty: list[str] = []
    written: set[str] = set()
    citable = {source.id for source in brief.sources}
    are_sides = facets_of((brief.question,), (), phrases).are_sides  # a side must not vanish from its comparison
    for finding in brief.findings:
        if _is_analysis(brief, finding):
            continue
        claims = [claim for claim in verified(finding.claims) if claim.source_id in citable]
        new = without_repetition(claims, written)
        if new:
            sections.append((finding.title, _paragraphs(_without_lead(new, finding.title))))
        elif (
            finding.status is StepStatus.DONE
            and (not claims or are_sides)
            and (looked_for := _looked_for(brief, finding))
        ):
            empty.append(looked_for)
    if not sections and (claims_of_sources := _from_sources(brief)):
        sections.append((phrases.direct_answer, _paragraphs(claims_of_sources)))
        return sections, []
    if table := _table(brief, phrases):
        sections.append((phrases.conclusion, table))
    return sections, empty


def _is_analysis(brief: ReporterBrief, finding: FindingBrief) -> bool:
    steps = brief.plan.steps if brief.plan else ()
    return any(step.id == finding.step_id and step.step_type is not StepType.RESEARCH for step in steps)


def _looked_for(brief: ReporterBrief, finding: FindingBrief) -> str:
    """What a step searched for, in the words of its search where this program's planner wrote it.

    Empty for a step that asked an article of the background about the question: its silence is no gap.
    """
    steps = brief.plan.steps if brief.plan else ()
    description = next((step.description for step in steps if step.id == finding.step_id), "")
    queries = description_queries(description, brief.locale)
    if any(query == focused_query(finding.title, brief.question) for query in queries):
        return ""
    return "; ".join(queries) or finding.title


def _without_lead(claims: Sequence[Claim], heading: str) -> list[Claim]:
    """The claims without the title of their source in front where it is the heading above them."""
    return [claim.model_copy(update={"text": claim.text.removeprefix(heading + TITLE_JOINT)}) for claim in claims]


def _from_sources(brief: ReporterBrief) -> list[Claim]:
    """What the sources themselves answer, where no step of research was done."""
    if brief.plan and any(step.step_type is StepType.RESEARCH for step in brief.plan.steps):
        return []
    texts = [SeenText(s.id, s.title, s.url, full(s.text), is_whole=False) for s in brief.sources]
    return answering_claims(brief.question, texts, _SENTENCES_FROM_SOURCES)


def _paragraphs(claims: Sequence[Claim]) -> str:
    """A paragraph for each run of sentences of one source, a list for each run of its table rows."""
    blocks: list[str] = []
    for (_, is_row), run in groupby(claims, key=lambda claim: (claim.source_id, _is_row(claim))):
        group = list(run)
        if is_row:
            blocks.append(_list(group))
        else:
            sentences = [_cited(claim.text, claim.source_id) for claim in group]
            blocks.append(("" if is_cjk(sentences[0]) else " ").join(sentences))
    return "\n\n".join(blocks)


def _list(rows: Sequence[Claim]) -> str:
    """Table rows as a list, under the title of their source where every row would repeat it."""
    leads = {claim.text.partition(TITLE_JOINT)[0] for claim in rows if TITLE_JOINT in claim.text}
    lead = leads.pop() if len(leads) == 1 and len(rows) > 1 else ""
    texts = [(claim.text.removeprefix(lead + TITLE_JOINT) if lead else claim.text, claim.source_id) for claim in rows]
    bullets = "\n".join(f"- {_cited(text, source_id)}" for text, source_id in texts)
    return f"{_heading(lead)}{'：' if is_cjk(lead) else ':'}\n\n{bullets}" if lead else bullets


def _cited(text: str, source_id: str) -> str:
    """The sentence with its marker; characters at its start that Markdown would read as markup are defused."""
    text = text.lstrip("#>-*+=|~` \t")
    return f"{text}{'' if is_cjk(text) else ' '}[{source_id}]"


def _is_row(claim: Claim) -> bool:
    """Whether the claim was put together from the cells of a table, so that its text is not its quote."""
    return readable(claim.quote).rstrip(" .;,:。；，：") not in claim.text


def _table(brief: ReporterBrief, phrases: Phrases) -> str:
    figures = comparable_figures(
        brief.question, distinct_claims(finding for finding in brief.findings if not _is_analysis(brief, finding))
    )
    if not figures:
        return ""
    titles = {source.id: source.title for source in brief.sources}
    return f"{phrases.side_by_side}\n\n{figure_table(figures, titles, phrases)}"


def _bullets(titles: Sequence[str]) -> str:
    return "\n".join(f"- {_heading(title)}" for title in dict.fromkeys(titles))


def _heading(text: str) -> str:
    return " ".join(text.replace("[", "(").replace("]", ")").split()).lstrip("#> ")
