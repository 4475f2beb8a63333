"""Which sections a report without a model has: one for each step that ended, each saying what came of it."""

from pathlib import Path

import pytest

from deer.models import (
    Check,
    CheckedClaim,
    FindingBrief,
    Plan,
    ReporterBrief,
    ReportStyle,
    Role,
    SourceBrief,
    Step,
    StepBrief,
    StepStatus,
    StepType,
)
from tests.unit.offline.asking_a_folder import ask
from tests.unit.offline.roles import TODAY, called, complete

GREEN, TALL = "The glim mill is green.", "The glim mill is 30 m tall."


async def test_a_step_that_repeats_is_said_to_repeat() -> None:
    """A step whose sentences all stand in an earlier section keeps its heading and names that section."""
    report = await _report(
        _step("s1", "Colour", GREEN), _step("s2", "As requested: paint", GREEN), _step("s3", "Height", TALL, GREEN)
    )
    assert "## As requested: paint\n\nAlready said under “Colour”.\n" in report
    assert f"## Height\n\n{TALL} [s1-1]\n" in report
    assert report.count(GREEN) == 1


async def test_a_step_that_found_nothing_is_said_to_have_found_nothing() -> None:
    """A step without a sentence keeps its heading, in the language of the report."""
    report = await _report(_step("s1", "Colour", GREEN), _step("s2", "Weight"))
    assert "## Weight\n\nNothing new was found" in report
    report = await _report(_step("s1", "颜色", GREEN), _step("s2", "重量"), locale="zh-CN")
    assert "## 重量\n\n没有找到新的内容" in report


async def test_a_question_is_not_called_uncovered_beside_sections_that_quote() -> None:
    """Where the direct answer stays empty and another step quotes, the report says so without denying the quotes."""
    direct = _step("s1", "Direct answer", description="Find what the sources say about: What is a glim mill?")
    report = await _report(direct, _step("s2", "About glim mills", TALL))
    assert "## Not found" not in report
    assert "say nothing about" not in report
    assert "No sentence answers the question as it is asked" in report.split("## Direct answer")[1].split("##")[0]


async def test_what_an_analysis_says_is_its_section() -> None:
    """An analysis keeps its heading and its summary; a second one with the same words points to the first."""
    said = "The earlier steps found 2 sentences; no two sources give figures of the same unit."
    report = await _report(
        _step("s1", "Colour", GREEN),
        _step("s2", "Figures side by side", step_type=StepType.ANALYSIS, summary=said),
        _step("s3", "Compare", step_type=StepType.ANALYSIS, summary=said),
    )
    assert f"## Figures side by side\n\n{said}\n" in report
    assert "## Compare\n\nAlready said under “Figures side by side”." in report


async def test_steps_that_did_not_end_well_have_no_section() -> None:
    """Failed and skipped steps are told in the notes of the report, which code writes."""
    failed, plan_step = _step("s2", "Weight")
    report = await _report(
        _step("s1", "Colour", GREEN), (failed.model_copy(update={"status": StepStatus.FAILED}), plan_step)
    )
    assert "Weight" not in report


async def test_a_comparison_without_common_figures_says_so(tmp_path: Path) -> None:
    """The section of the comparison tells that no figures could be set side by side, and why."""
    done = await ask(
        tmp_path / "d",
        "Compare Brolt mills and Crand mills",
        brolt="# Brolt mills\n\nThe Brolt mills have four sails. The Brolt mills weigh 40 t.",
        crand="# Crand mills\n\nThe Crand mills have six sails. The Crand mills are 30 m tall.",
    )
    assert [line for line in done.report.splitlines() if line.startswith("## ")] == [
        "## Brolt mills",
        "## Crand mills",
        "## Side by side",
    ]
    assert "no two sources give figures of the same unit" in done.report.split("## Side by side")[1]


async def test_an_analysis_compares_what_it_is_titled_after() -> None:
    """Figures that the title of the step asks for are compared although the question asks for none."""
    told = [_step(f"s{n}", f"Mill {n}", f"The height of the mill is {n}0 m.", source=f"s{n}-1")[0] for n in (1, 2)]
    step = Step(id="s3", title="Compare the height", description="Both", step_type=StepType.ANALYSIS)
    brief = StepBrief(
        question="Which mill shall I buy?",
        locale="en-US",
        today=TODAY,
        role=Role.ANALYST,
        step=step,
        max_turns=20,
        can_search=False,
        findings=tuple(told),
    )
    ((_, finding),) = called(await complete(brief, Role.ANALYST, ("submit_finding",)))
    assert "| 20 m |" in finding["summary"]
    assert len(finding["claims"]) == 2


async def test_a_side_refers_to_what_the_other_says_of_both() -> None:
    """Where a comparison says something new of a side, what was said of both before is not lost to it."""
    report = await _report(
        _step("s1", "Glim mills", GREEN), _step("s2", "Zorp mills", TALL, GREEN), question="Compare glim and zorp mills"
    )
    assert f"## Zorp mills\n\n{TALL} [s1-1]\n\nMore on this stands under “Glim mills”.\n" in report


@pytest.mark.parametrize(
    ("question", "said", "found_nothing"),
    [
        ("Who won the glim race in 1954?", "do not cover this question", "Nothing was found"),
        ("谁赢得了1954年的风车赛？", "没有涉及这个问题", "没有找到内容"),
    ],
)
async def test_that_nothing_was_found_is_said_once(
    tmp_path: Path, question: str, said: str, found_nothing: str
) -> None:
    """The report says once that the question is not covered, and each finding begins with having found nothing."""
    done = await ask(tmp_path / "d", question, colour="# Orlan pots\n\nAn Orlan pot is brown.")
    assert done.report.count(said) == 1
    assert done.report.count(question) == 1
    assert "cites nothing" not in done.report  # code says that below a report without references
    assert "不引用" not in done.report
    assert str(done.findings[0].summary).startswith(found_nothing)


def _step(
    step_id: str,
    title: str,
    *sentences: str,
    description: str = "",
    step_type: StepType = StepType.RESEARCH,
    summary: str = "Nothing was found.",
    source: str = "s1-1",
) -> tuple[FindingBrief, Step]:
    claims = tuple(CheckedClaim(text=s, source_id=source, quote=s, check=Check.VERIFIED) for s in sentences)
    finding = FindingBrief(step_id=step_id, title=title, status=StepStatus.DONE, summary=summary, claims=claims)
    return finding, Step(id=step_id, title=title, description=description or title, step_type=step_type)


async def _report(
    *told: tuple[FindingBrief, Step], locale: str = "en-US", question: str = "What is a glim mill?"
) -> str:
    brief = ReporterBrief(
        question=question,
        locale=locale,
        today=TODAY,
        style=ReportStyle.NEUTRAL,
        plan=Plan(revision=1, title="Mills", steps=tuple(step for _, step in told)),
        findings=tuple(finding for finding, _ in told),
        sources=(SourceBrief(id="s1-1", title="Mills", url="doc://c/m.md", text=f"{GREEN} {TALL}"),),
    )
    return (await complete(brief, Role.REPORTER)).content
