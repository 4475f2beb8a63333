"""Figures in claims, and those of the same unit from different sources side by side."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from deer.models import Claim
from deer.providers.asking import asked
from deer.providers.extractive.facets import QUERY_SEPARATOR, facets_of
from deer.providers.extractive.phrases import ENGLISH, Phrases
from deer.providers.extractive.ranking import TITLE_JOINT, overlaps
from deer.providers.terms import CJK, STOP_WORDS, stem, terms

MAX_FIGURES = 12
_CONTEXT_CHARS = 70
_MIN_OVERLAP = 0.6

_NUMBER = r"[-−–]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-−]?\d+(?:\.\d+)?"
_CJK_UNITS = (
    "亿立方米|万立方米|立方米|平方公里|公顷|万吨|亿吨|千瓦时|兆瓦时|千瓦|兆瓦|瓦|摄氏度|分贝|平方米|立方米|公里|千米|毫米|厘米|米|公斤|千克|克|吨|万元|亿元|元|万人|人|年|个月|天|"
    "小时|分钟|毫秒|秒|度|倍|台|户|万|亿"
)
_FIGURE = re.compile(
    rf"(?P<currency>[$€£¥])\s?(?P<money>{_NUMBER})"
    rf"|(?P<value>{_NUMBER})\s?(?P<unit>%|‰|°C|°F|dB\(A\)|(?:{_CJK_UNITS})|[a-zA-Zµ²³/·]+(?:[²³])?)"
)
_MEASURE = re.compile(rf"\b(?P<measure>[A-Z]{{2,6}})\b[^.;,\d]{{0,30}}?(?P<value>{_NUMBER})(?![\d%°]|\s?[a-zA-Z%°])")
_NOT_UNITS = frozenset({"st", "nd", "rd", "th", "x"})


@dataclass(frozen=True)
class Figure:
    """A number with its unit, as written, and the part of its claim around it."""

    written: str
    value: float
    unit: str
    context: str
    source_id: str


def figures_of(claim: Claim) -> list[Figure]:
    """The figures of a claim in order; numbers without a unit or a measure such as COP are none."""
    found: list[tuple[int, Figure]] = []
    for match in _FIGURE.finditer(claim.text):
        unit = match["currency"] or match["unit"]
        if match["unit"] and (unit.lower() in STOP_WORDS or unit.lower() in _NOT_UNITS):
            continue
        found.append((match.start(), _figure(claim, match, match["money"] or match["value"], unit)))
    found.extend(
        (match.start("value"), _figure(claim, match, match["value"], match["measure"]))
        for match in _MEASURE.finditer(claim.text)
    )
    return [figure for _, figure in sorted(found, key=lambda pair: pair[0])]


def comparable_figures(question: str, claims: Sequence[Claim]) -> dict[str, list[Figure]]:
    """Figures by unit, of units in which two sources or more differ; one figure a claim and unit, highest first.

    A figure counts when the words around it are those of the question: a price and the price of something else have
    the same unit and nothing to do with each other. Units of the question's own figures are conditions, such as the
    −15 °C at which something is asked, and not compared.
    """
    conditions = {figure.unit for figure in figures_of(Claim(text=question))}
    fits = _relevance(question)
    by_unit: dict[str, dict[str, Figure]] = {}
    for claim in claims:
        for figure in figures_of(claim):
            if figure.unit not in conditions and fits(claim, figure):
                by_unit.setdefault(figure.unit, {}).setdefault(claim.quote, figure)
    shared = {unit: alike for unit, figures in by_unit.items() if (alike := _of_one_thing(list(figures.values())))}
    room = MAX_FIGURES
    kept: dict[str, list[Figure]] = {}
    for unit in sorted(shared, key=lambda unit: -len({figure.source_id for figure in shared[unit]})):
        if len(shared[unit]) <= room:
            kept[unit] = sorted(shared[unit], key=lambda figure: -figure.value)
            room -= len(shared[unit])
    return kept


def _relevance(question: str) -> Callable[[Claim, Figure], bool]:
    """Whether a figure is one of those that a question asks for."""
    facets = facets_of((question,), (), ENGLISH)
    queries = [query for facet in facets.found for query in facet.query.split(QUERY_SEPARATOR)]
    aspects = frozenset(term for query in queries for term in asked(query).focus)

    def fits(claim: Claim, figure: Figure) -> bool:
        lead, joint, _ = claim.text.partition(TITLE_JOINT)
        context = f"{lead} {figure.context}" if joint else figure.context
        if aspects:
            return not aspects.isdisjoint(terms(context))
        return facets.are_sides or overlaps(question, context) >= _MIN_OVERLAP

    return fits


def _of_one_thing(figures: Sequence[Figure]) -> list[Figure]:
    """Figures of one unit whose words some figure of another source shares; empty when they do not differ."""
    words = {id(figure): {term for term in terms(figure.context) if not term[0].isdigit()} for figure in figures}
    alike = [
        figure
        for figure in figures
        if any(
            other.source_id != figure.source_id and (words[id(figure)] & words[id(other)]) - {stem(figure.unit.lower())}
            for other in figures
        )
    ]
    return alike if len({figure.value for figure in alike}) > 1 else []


def figure_table(figures: Mapping[str, Sequence[Figure]], titles: Mapping[str, str], phrases: Phrases) -> str:
    """A Markdown table of figures, each with its source; `titles` names sources by id."""
    rows = [f"| {phrases.figure} | {phrases.in_words} | {phrases.source} |", "| --- | --- | --- |"]
    for same_unit in figures.values():
        for figure in same_unit:
            title = titles.get(figure.source_id, "")
            cells = (figure.written, figure.context, f"{title} [{figure.source_id}]".strip())
            rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def _figure(claim: Claim, match: re.Match[str], number: str, unit: str) -> Figure:
    written = match.group() if not match.re.groupindex.get("measure") else f"{unit} {number}"
    value = float(number.replace(",", "").replace("−", "-").replace("–", "-"))
    folded = unit if len(unit) <= 3 or not unit.isalpha() else stem(unit.lower())
    return Figure(written, value, folded, _around(claim.text, match.start(), match.end()), claim.source_id)


def _around(text: str, start: int, end: int) -> str:
    """The clause around a figure, cut at words where it is long."""
    before = max((m.end() for m in re.finditer(r"[;；。]\s*|[.,:](?:\s+)|[，：—]\s*", text[:start])), default=0)
    after = re.search(r"[;；。，]|[.,:](?:\s|$)", text[end:])
    left, right = text[before:start], text[end : end + after.start() if after else len(text)]
    return (_cut_left(left) + text[start:end] + _cut_right(right)).strip()


def _cut_left(text: str) -> str:
    if len(text) <= _CONTEXT_CHARS:
        return text
    cut = text[-_CONTEXT_CHARS:]
    return "… " + (cut if re.search(f"[{CJK}]", cut) else cut.partition(" ")[2])


def _cut_right(text: str) -> str:
    if len(text) <= _CONTEXT_CHARS:
        return text
    cut = text[:_CONTEXT_CHARS]
    return (cut if re.search(f"[{CJK}]", cut) else cut.rpartition(" ")[0]) + " …"
