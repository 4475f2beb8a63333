"""The reporter without a model: the quoted sentences under the titles of their steps, each with its source."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from deer.models import Claim, FindingBrief, ReporterBrief, StepStatus, StepType, full
from deer.providers.extractive.analyst import distinct_claims, figures_side_by_side, verified
from deer.providers.extractive.descriptions import asks_article, described_queries
from deer.providers.extractive.facets import facets_of
from deer.providers.extractive.figures import figure_table
from deer.providers.extractive.phrases import Phrases, phrases_for
from deer.providers.extractive.ranking import TITLE_JOINT, SeenText, answering_claims
from deer.providers.extractive.repetition import sentences_in, without_repetition
from deer.providers.extractive.sentences import is_cjk, readable

_SENTENCES_FROM_SOURCES = 6


@dataclass
class _Written:
    """The sections so far, and under which heading each sentence and each comparison stands."""

    sections: list[tuple[str, str]] = field(default_factory=list)
    said_under: dict[str, str] = field(default_factory=dict)
    has_quotes: bool = False

    def add(self, heading: str, body: str) -> None:
        self.sections.append((_heading(heading), body))

    def new_claims(self, claims: Sequence[Claim], heading: str) -> list[Claim]:
        """The claims without what stands in earlier sections; they count as said from now on."""
        said = set(self.said_under)
        new = without_repetition(claims, said)
        self.said_under.update(dict.fromkeys(sorted(said - self.said_under.keys()), heading))
        self.has_quotes = self.has_quotes or bool(new)
        return new

    def headings_of(self, claims: Sequence[Claim]) -> list[str]:
        """The headings under which the sentences of claims stand already."""
        said = (self.said_under.get(sentence) for claim in claims for sentence in sentences_in(claim))
        return list(dict.fromkeys(heading for heading in said if heading))


def write_report(brief: ReporterBrief) -> str:
    """The report as Markdown: a section for each step that ended, in which each quote ends with `[source id]`.

    No sentence is quoted twice: a step that brings nothing new says so or names the section that said it.
    """
    phrases = phrases_for(brief.locale)
    title = brief.plan.title if brief.plan else brief.question
    parts = [f"# {_heading(title)}", phrases.notice]
    written = _written(brief, phrases)
    if written.has_quotes:
        parts.extend(f"## {heading}\n\n{body}" for heading, body in written.sections)
    else:
        parts.append(phrases.not_covered)
        looked_for = _looked_for_in_all(brief)
        if looked_for and looked_for != [title]:
            parts.extend((phrases.looked_for, _bullets(looked_for)))
    return "\n\n".join(parts) + "\n"


def _written(brief: ReporterBrief, phrases: Phrases) -> _Written:
    written = _Written()
    if claims_of_sources := _from_sources(brief):
        written.add(phrases.direct_answer, _paragraphs(written.new_claims(claims_of_sources, phrases.direct_answer)))
    for finding in brief.findings:
        if _is_analysis(brief, finding):
            _add_analysis(written, brief, finding, phrases)
        else:
            _add_research(written, brief, finding, phrases)
    return written


def _add_research(written: _Written, brief: ReporterBrief, finding: FindingBrief, phrases: Phrases) -> None:
    citable = {source.id for source in brief.sources}
    claims = [claim for claim in verified(finding.claims) if claim.source_id in citable]
    earlier = written.headings_of(claims)
    if new := written.new_claims(claims, finding.title):
        body = _paragraphs(_without_lead(new, finding.title))
        if earlier and facets_of((brief.question,), (), phrases).are_sides:
            body += f"\n\n{_pointing(phrases.more_said, earlier, phrases)}"
        written.add(finding.title, body)
    elif finding.status is not StepStatus.DONE:
        return  # the notes of the report tell why
    elif earlier:
        written.add(finding.title, _pointing(phrases.already_said, earlier, phrases))
    elif brief.question in (queries := _queries_of(brief, finding)) or finding.title == phrases.direct_answer:
        written.add(finding.title, phrases.nothing_as_asked)
    elif queries:
        named = phrases.comma.join(phrases.quoted.format(text=_heading(query)) for query in queries)
        written.add(finding.title, phrases.nothing_new_about.format(queries=named))
    else:
        written.add(finding.title, phrases.nothing_new)


def _add_analysis(written: _Written, brief: ReporterBrief, finding: FindingBrief, phrases: Phrases) -> None:
    """What an analysis says, its figures with the titles of their sources; a repetition names the first section."""
    body = full(finding.summary or "").strip()
    if finding.status is not StepStatus.DONE or not body:
        return
    researched = distinct_claims(other for other in brief.findings if not _is_analysis(brief, other))
    if body.startswith(phrases.side_by_side) and (
        figures := figures_side_by_side(brief.question, finding.title, researched)
    ):
        titles = {source.id: source.title for source in brief.sources}
        body = f"{phrases.side_by_side}\n\n{figure_table(figures, titles, phrases)}"
    if earlier := written.said_under.get(body):
        body = _pointing(phrases.already_said, [earlier], phrases)
    else:
        written.said_under[body] = finding.title
    written.add(finding.title, body)


def _pointing(wording: str, headings: Sequence[str], phrases: Phrases) -> str:
    named = phrases.comma.join(phrases.quoted.format(text=_heading(heading)) for heading in headings)
    return wording.format(headings=named)


def _is_analysis(brief: ReporterBrief, finding: FindingBrief) -> bool:
    steps = brief.plan.steps if brief.plan else ()
    return any(step.id == finding.step_id and step.step_type is not StepType.RESEARCH for step in steps)


def _queries_of(brief: ReporterBrief, finding: FindingBrief) -> list[str]:
    """What a step searched for, where this program's planner wrote it.

    Empty also for a step that asked an article of the background about the question: its silence is no gap.
    """
    steps = brief.plan.steps if brief.plan else ()
    description = next((step.description for step in steps if step.id == finding.step_id), "")
    if asks_article(description, brief.locale):
        return []
    return described_queries(finding.title, description, brief.question, brief.locale)


def _looked_for_in_all(brief: ReporterBrief) -> list[str]:
    """What the steps looked for, each once; the title of a step where its searches are not known."""
    finished = [f for f in brief.findings if f.status is StepStatus.DONE and not _is_analysis(brief, f)]
    return ["; ".join(_queries_of(brief, finding)) or finding.title for finding in finished]


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


def _bullets(titles: Sequence[str]) -> str:
    return "\n".join(f"- {_heading(title)}" for title in dict.fromkeys(titles))


def _heading(text: str) -> str:
    return " ".join(text.replace("[", "(").replace("]", ")").split()).lstrip("#> ")
