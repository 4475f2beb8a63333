"""What a reviewer's words do to a plan without a model: steps more, steps less, and saying so."""

import json
from pathlib import Path
from typing import Any

import pytest

from deer.models import Plan, PlannerBrief, Role, Step, StepType
from tests.unit.offline.asking_a_folder import flow_over
from tests.unit.offline.roles import TODAY, complete

ARTICLES = {
    "mills": "# Glim mills\n\nA glim mill has four sails. A glim mill is efficient in a storm. The glim mill is green.",
    "costs": "# What a glim mill costs\n\nThe upkeep is 300 euros a year.\n\n## Price\n\nThe machine is sold for "
    "9,000 euros. A second set of sails adds 500 euros.",
    "trade": "# Trade in pots\n\nPots cost 3 euros.",
}


@pytest.mark.parametrize(
    ("feedback", "left", "added"),
    [
        ("drop the side by side", ["s1", "s2"], []),
        ("compare with oil heating too; drop the side by side", ["s1", "s2"], ["compare with oil heating too"]),
        ("Please remove the noise of mills, and add the price", ["s2", "s3"], ["add the price"]),
        ("leave the upkeep out", ["s1", "s3"], []),
        ("without noise and upkeep", ["s3"], []),
        ("drop steps 1 and 2", ["s3"], []),
        ("drop the comparison", ["s1", "s2"], []),
        ("look at life, noise and price", ["s1", "s2", "s3"], ["look at life, noise and price"]),
        ("look at the drop in output; compare sails without linen", ["s1", "s2", "s3"], [
            "look at the drop in output", "compare sails without linen"
        ]),
    ],
)  # fmt: skip
async def test_words_remove_named_steps_and_add_a_step_for_each_clause(
    feedback: str, left: list[str], added: list[str]
) -> None:
    """A clause that takes a step away by its title or number does so; every other clause becomes a step."""
    steps = (_step("s1", "Noise of mills"), _step("s2", "Upkeep"), _step("s3", "Side by side", StepType.ANALYSIS))
    written = await _edited(steps, feedback)
    assert [step["id"] for step in written["steps"] if "id" in step] == left
    assert [step["title"] for step in written["steps"] if "id" not in step] == [f"As requested: {a}" for a in added]


@pytest.mark.parametrize(
    ("feedback", "left", "added"),
    [
        ("去掉数据对照", ["s1", "s2"], []),
        ("删除噪声，增加寿命", ["s2", "s3"], ["增加寿命"]),
        ("把风车的费用删掉吧", ["s1", "s3"], []),
        ("不要第二步和数据对照；也比较一下寿命", ["s1"], ["也比较一下寿命"]),
    ],
)
async def test_chinese_words_do_the_same(feedback: str, left: list[str], added: list[str]) -> None:
    """Chinese feedback adds and removes steps likewise."""
    steps = (_step("s1", "风车的噪声"), _step("s2", "风车的费用"), _step("s3", "数据对照", StepType.ANALYSIS))
    written = await _edited(steps, feedback, "青岚风车如何？", "zh-CN")
    assert [step["id"] for step in written["steps"] if "id" in step] == left
    assert [step["title"] for step in written["steps"] if "id" not in step] == [f"按要求补充：{a}" for a in added]


async def test_a_removal_that_names_no_step_is_told() -> None:
    """What shall go and is not in the plan becomes no step; the plan's thought says that nothing was removed."""
    written = await _edited((_step("s1", "Noise"), _step("s2", "Upkeep")), "drop the subsidies")
    assert [step["id"] for step in written["steps"]] == ["s1", "s2"]
    assert "“drop the subsidies”" in written["thought"]


async def test_a_plan_is_never_emptied() -> None:
    """A plan whose every step shall go stays as it was, and says so."""
    written = await _edited((_step("s1", "Noise"),), "remove noise")
    assert [step["id"] for step in written["steps"]] == ["s1"]
    assert "“remove noise”" in written["thought"]


async def test_a_full_plan_says_what_made_room() -> None:
    """A request beyond the limit takes the place of the last research step, by name."""
    written = await _edited((_step("s1", "Noise"), _step("s2", "Upkeep")), "add price; add life", max_steps=2)
    assert [step["title"] for step in written["steps"]] == ["Noise", "As requested: add price / As requested: add life"]
    assert "“Upkeep”" in written["thought"]


@pytest.mark.parametrize(("question", "locale"), [("glim mills", "en-US"), ("风车", "zh-CN")])
async def test_the_plan_tells_what_feedback_can_do(question: str, locale: str) -> None:
    """Whoever reviews the plan learns before the first edit that other changes need a plan file."""
    brief = PlannerBrief(
        question=question, locale=locale, today=TODAY, topics=(question,), max_steps=5, can_search=True
    )
    assert "--plan" in json.loads((await complete(brief, Role.PLANNER)).content)["thought"]


@pytest.mark.parametrize("feedback", ["compare the costs too", "what about the cost as well", "include costs"])
async def test_a_requested_step_looks_for_the_words_of_the_request(tmp_path: Path, feedback: str) -> None:
    """The request weighs more than the question: its step quotes the article on costs under its own heading."""
    flow = await flow_over(tmp_path / "d", ARTICLES)
    done = await flow.run("How efficient is a glim mill in a storm?", feedback=feedback)
    section = done.report.split(f"## As requested: {feedback}\n\n")[1].split("##")[0]
    assert "300 euros" in section
    assert "9,000 euros" in section
    assert "four sails" not in section
    assert "Pots" not in done.report


async def test_a_requested_step_quotes_in_chinese_too(tmp_path: Path) -> None:
    """The same holds for a request in Chinese."""
    articles = {
        "炉": "# 青岚炉\n\n青岚炉可以烧木柴，升温很快。",
        "费用": "# 青岚炉的费用\n\n整机售价约为7万元。全年检修约需830元。",
    }
    flow = await flow_over(tmp_path / "d", articles)
    done = await flow.run("青岚炉升温快吗？", feedback="也比较一下费用")
    section = done.report.split("## 按要求补充：也比较一下费用\n\n")[1].split("##")[0]
    assert "7万元" in section
    assert "830元" in section


async def _edited(
    steps: tuple[Step, ...], feedback: str, question: str = "glim mills", locale: str = "en-US", max_steps: int = 6
) -> dict[str, Any]:  # the JSON of a reply
    brief = PlannerBrief(
        question=question,
        locale=locale,
        today=TODAY,
        topics=(question,),
        max_steps=max_steps,
        can_search=True,
        earlier_plan=Plan(revision=1, title="Mills", steps=steps),
        feedback=(feedback,),
    )
    written: dict[str, Any] = json.loads((await complete(brief, Role.PLANNER)).content)
    return written


def _step(step_id: str, title: str, step_type: StepType = StepType.RESEARCH) -> Step:
    return Step(id=step_id, title=title, description=f"About {title}", step_type=step_type)
