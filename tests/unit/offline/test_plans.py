"""The steps that a question becomes without a model: each has words that a source can say something about."""

from pathlib import Path

import pytest

from tests.unit.offline.asking_a_folder import ask, flow_over

ARTICLES = {
    "mills": "# Glim mills\n\nA glim mill grinds grain. A glim mill is cheap to run.",
    "rollers": "# Steam rollers\n\nA steam roller grinds grain too. A steam roller costs 300 euros a year.",
    "t.csv": "name,sails\nglim mill,4\nsteam roller,0\n",
}


@pytest.mark.parametrize(
    ("question", "titles"),
    [
        ('Is a glim mill cheaper than a "steam roller" at $100 a month?', ["Glim mill", "Steam roller"]),
        ("Which is cheaper: a glim mill, a steam roller or $100 & `x`?", None),
        ("Which is cheaper to run: a glim mill, or all told?", None),
        ("Compare a glim mill, a steam roller and a zorp, by & by", None),
        ("Compare glim mills and Xanplork mills", ["Glim mills", "Xanplork mills"]),
        ("Which is cheaper: a glim mill or a steam roller?", ["Glim mill", "Steam roller"]),
        ("Is a glim mill cheap? It's $100 & `x`", None),
        ("Is a glim mill cheap? The rent is 100 crowns", None),
        ("How cheap is a glim mill, and what is `grain`?", ["How cheap is a glim mill", "What is `grain`"]),
        (
            "How cheap is a glim mill; what does Xanplork weigh?",
            ["How cheap is a glim mill", "What does Xanplork weigh"],
        ),
    ],
)
async def test_parts_of_a_question_are_made_of_words(tmp_path: Path, question: str, titles: list[str] | None) -> None:
    """Sums and signs are no part; commas and "or" split only parts that the sources know. Else there is no split."""
    done = await ask(tmp_path / "d", question, **ARTICLES)
    assert done.plan is not None
    researched = [step.title for step in done.plan.steps if step.step_type == "research"]
    if titles is not None:
        assert researched == titles
    else:
        assert researched[0] == "Direct answer"
        assert not any(sign in title for title in researched for sign in '$&`"')


async def test_a_title_that_is_no_word_is_no_step(tmp_path: Path) -> None:
    """A table called t.csv is searched like every source, but no step is called T."""
    done = await ask(tmp_path / "d", "How many sails does a glim mill have?", **ARTICLES)
    assert done.plan is not None
    assert "T" not in [step.title.upper() for step in done.plan.steps]
    assert "sails 4" in done.report


@pytest.mark.parametrize("question", ["What does a glim mill cost to run?", "青岚炉的费用是多少？"])
async def test_descriptions_do_not_repeat_the_question(tmp_path: Path, question: str) -> None:
    """Whoever reads the plan has read the question already."""
    flow = await flow_over(tmp_path / "d", {**ARTICLES, "炉": "# 青岚炉\n\n青岚炉的费用约为700元。"})
    done = await flow.run(question)
    assert done.plan is not None
    assert len(done.plan.steps) > 1
    assert not any(question in step.description for step in done.plan.steps)
