"""A token for each of many runs, in question, sources, pages and findings: where one turns up, its run was heard."""

import re
from collections.abc import Mapping

from tests.scripted.calls import Call, Json
from tests.scripted.replies import Answer, Text, call_tool
from tests.scripted.roles import (
    SHOWN_SOURCE,
    analysis_step,
    asked_text,
    plan_of,
    research_step,
    researcher,
    tool_text,
)
from tests.scripted.services import ScriptedServices

TOKEN = re.compile(r"(?:token|subject-)(\d{3})[a-z]*")


def question_with_token(number: int) -> str:
    """The question of a run."""
    return f"What is the value of token{number:03}question?"


def say_tokens(services: ScriptedServices, steps: int) -> None:
    """Let every service answer a run with that run's token: plans, results of searches, pages, findings and report.

    A plan has so many research steps, and an analysis.
    """

    def planner(call: Call) -> Answer:
        number = _number_in(asked_text(call))
        return plan_of(*(research_step(f"subject-{number}{letter}") for letter in "abcd"[:steps]), analysis_step())

    def results(query: str) -> list[Json]:
        number, name = _number_in(query), "-".join(re.findall(r"[a-z0-9]+", query.lower())[-3:])
        text = f"The value is token{number}source, as the laboratory wrote."
        return [{"title": f"On {number}", "url": f"{services.url}/page/{name}", "content": text}]

    def finds(call: Call) -> Answer:
        if call.rounds < 2:
            return researcher(call)
        number, ids = _number_in(asked_text(call)), SHOWN_SOURCE.findall(tool_text(call))
        claim = {"text": "It is so.", "source_id": ids[0], "quote": f"The value is token{number}source"}
        return call_tool("submit_finding", summary=f"Found token{number}finding.", claims=[claim])

    def reporter(call: Call) -> Answer:
        told = dict.fromkeys(match.group() for match in TOKEN.finditer(asked_text(call)))
        return Text(f"# Report\n\n## What was found\n\nIt says {', '.join(told)}.\n")

    services.scripts |= {"planner": planner, "researcher": finds, "reporter": reporter}
    services.setup.results = results


def leaks_between(services: ScriptedServices, records: Mapping[int, str]) -> list[str]:
    """Every request and record in which not the tokens of just one run stand, and records without their own finding."""
    leaks = []
    for call in services.log.calls():
        heard = _numbers_in(call.wording)
        if len(heard) != 1:
            leaks.append(f"{call.role or call.kind} call {call.nth}: {sorted(heard)}")
    for number, record in records.items():
        heard = _numbers_in(record)
        if heard != {f"{number:03}"} or f"token{number:03}finding" not in record:
            leaks.append(f"record of run {number}: {sorted(heard)}")
    return leaks


def _numbers_in(text: str) -> set[str]:
    return {match[1] for match in TOKEN.finditer(text)}


def _number_in(text: str) -> str:
    """The number of the run that speaks, by its token or by the subject of its step."""
    found = TOKEN.search(text)
    return found[1] if found else "none"
