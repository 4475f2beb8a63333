"""What of a question an answer must keep to: its year, its measuring word, the side that it compares."""

from pathlib import Path

import pytest

from deer.providers.asking import asked_years, years_in
from deer.providers.extractive.phrases import ENGLISH
from deer.providers.extractive.ranking import SeenText, answering_claims
from deer.providers.extractive.researcher import summary_of
from tests.unit.offline.asking_a_folder import ask

RETREATS = (
    "# Retreats\n\nThe team retreat takes place in Lisbon from 12 to 15 May 2025. The budget is 18,400 EUR for "
    "23 people.\n\nThe team retreat in Porto in 2024 cost 16,900 EUR. The budget was 17,000 EUR."
)


@pytest.mark.parametrize(
    ("year", "answer", "other"), [("2025", "18,400 EUR", "16,900"), ("2024", "16,900 EUR", "18,400")]
)
async def test_an_answer_is_of_the_asked_year(tmp_path: Path, year: str, answer: str, other: str) -> None:
    """Figures of another year are left out; one behind the sentence that names the asked year is of that year."""
    report = (await ask(tmp_path / "d", f"What does the team retreat cost in {year}?", retreats=RETREATS)).report
    assert answer in report.split("## Direct answer")[1]
    assert other not in report


def test_figures_with_a_unit_are_no_years() -> None:
    """A year is told from a sum, a length and a code, in English and in Chinese; a range binds to no single year."""
    assert years_in("In 2025 it cost 2000 EUR, 1,950 more than RFC-2020; 2019年建成，全长2010 km") == {"2025", "2019"}
    assert asked_years("What did it cost in 2025?") == {"2025"}
    assert asked_years("What did it cost since 2020?") == frozenset()


def test_the_summary_counts_in_words_that_fit() -> None:
    """One sentence answers, two sentences answer."""
    text = SeenText("b-1", "Quorn", "", "The Quorn tower is 30 m high. The Quorn tower was built by Arvo.")
    one = answering_claims("How high is the Quorn tower?", [text], 1)
    assert summary_of(one, ENGLISH).startswith("1 sentence of 1 source answers this step.")
    assert summary_of([*one, *one], ENGLISH).startswith("2 sentences of 1 source answer this step.")


async def test_a_side_is_told_of_itself_or_as_not_found(tmp_path: Path) -> None:
    """A sentence that names the other side is none of this side's, whose section then says that it found nothing."""
    done = await ask(
        tmp_path / "d",
        "Compare the upkeep costs of Brolt-type and Crand-type windmills, with figures",
        brolt="# Windmills\n\nThe upkeep costs of a Brolt-type windmill are 300 crowns a year.",
        crand="# Crand-type windmills\n\nA Crand-type windmill has four sails of linen. It stands on a stone tower.",
    )
    assert done.plan is not None
    assert [step.title for step in done.plan.steps][:2] == ["Brolt-type windmills", "Crand-type windmills"]
    assert "300 crowns" in done.report.split("## Brolt-type windmills")[1].split("##")[0]
    crand = done.report.split("## Crand-type windmills\n\n")[1].split("##")[0]
    assert crand.startswith("Nothing new was found")
    assert "“Crand-type windmills: upkeep costs”" in crand


async def test_a_measuring_word_is_answered_by_a_figure_in_its_unit(tmp_path: Path) -> None:
    """The figure in decibels leads, although only its title speaks of noise; the common subject alone is no answer."""
    done = await ask(
        tmp_path / "d",
        "How loud is a glim mill?",
        noise="# Noise of glim mills\n\nTurning sails hum. Modern machines have a level between 31 and 44 dB(A).",
        build="# Glim mills\n\nA glim mill stands on a stone tower. A glim mill has four sails. A glim mill is red.",
        trade="# Trade in glim mills\n\nA glim mill is sold in autumn. A glim mill is carried on an ox cart.",
    )
    answer = done.report.split("## Direct answer\n\n")[1].split("\n##")[0]
    assert "between 31 and 44 dB(A)" in answer.splitlines()[0]
    assert "stone tower" not in answer
    assert "autumn" not in answer


async def test_a_chinese_question_finds_the_other_word_for_costs(tmp_path: Path) -> None:
    """成本 in the question finds the sum under the heading that says 费用, and not the price of the machine."""
    article = "# 青岚风车\n\n## 购置\n\n整机售价约为7万元。\n\n## 运行费用\n\n全年润滑与检修约需830元。"
    report = (await ask(tmp_path / "d", "青岚风车的运行成本是多少？", mill=article)).report
    assert "830元" in report.split("## 直接回答\n\n")[1].splitlines()[0]


@pytest.mark.parametrize("season", ["冬天", "冬季"])
async def test_a_season_is_a_condition_and_no_subject(tmp_path: Path, season: str) -> None:
    """在冬天 is met by words for the cold, and a collection that never writes the season still knows the subject."""
    done = await ask(
        tmp_path / "d",
        f"青岚炉在{season}的效率如何？",
        cold="# 青岚炉在低温下的表现\n\n青岚炉可以在寒冷地区使用，零下20度时的能效比约为1.9。机身由铸铁制成。",
        price="# 青岚炉的费用\n\n青岚炉整机售价约为7万元。青岚炉每年检修一次。",
        music="# 松汀琴\n\n松汀琴有十二根弦，音色低沉。",
    )
    assert any(source_id.startswith("b-") for source_id in done.sources)
    answer = done.report.split("## 直接回答\n\n")[1].split("\n##")[0]
    assert "能效比约为1.9" in answer
    assert "7万元" not in answer


async def test_a_condition_that_no_source_meets_is_no_answer(tmp_path: Path) -> None:
    """What is true somewhere else is not quoted as the answer for a place that no source names."""
    done = await ask(tmp_path / "d", "青岚炉在火星的效率如何？", cold="# 青岚炉\n\n青岚炉的能效比约为1.9。")
    assert "1.9" not in str(done.findings[0].summary)
    assert done.findings[0].title == "直接回答"


async def test_an_article_that_gives_no_measure_is_no_step(tmp_path: Path) -> None:
    """An article on the subject that says nothing of what is measured is not looked through."""
    done = await ask(
        tmp_path / "d",
        "How loud is a glim mill?",
        noise="# Noise of glim mills\n\nThe sails hum. The level of a glim mill is between 31 and 44 dB(A).",
        build="# Trade in glim mills\n\nA glim mill is sold in autumn. A glim mill is carried on an ox cart.",
    )
    assert done.plan is not None
    assert "Trade in glim mills" not in [step.title for step in done.plan.steps]
