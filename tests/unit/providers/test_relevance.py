"""Which parts of a long text matter for what a step wants to know."""

from pathlib import Path

from deer.providers.relevance import relevant_parts

FILLER = "Ships were built in the harbour, and the harbour was full of ships for many years and in all seasons."
OPENING = "# A chronicle of the town\n\nThis chronicle tells what happened in the town, year by year."
NEEDLE = "In the winter of 1987 the heat pump of the school had a noise level of 45 dB(A)."


def long_text() -> str:
    """A text of some 60,000 characters whose one telling sentence stands behind its middle, under a heading."""
    pieces = [OPENING, *[FILLER] * 400, f"## The school\n\n{NEEDLE}", *[FILLER] * 200]
    return "\n\n".join(pieces)


def test_the_telling_sentence_is_shown_wherever_it_stands() -> None:
    """Opening and telling passage are among the parts, in order, within the length, verbatim with its heading."""
    text = long_text()
    parts = relevant_parts(text, "Chronicle", "How loud is the heat pump of the school?", 5_000)
    shown = [text[start:end] for start, end in parts]
    assert shown[0].startswith(OPENING)
    assert any("## The school\n\n" + NEEDLE in part for part in shown)
    assert parts == sorted(parts)
    assert 4_000 < sum(end - start for start, end in parts) <= 5_000


def test_chinese_words_are_found_without_spaces() -> None:
    """A sentence in Chinese is found by words of a question that run together."""
    needle = "学校热泵的噪声为四十五分贝。"
    text = "\n\n".join(["小镇编年史。", *["港口里有许多船只，年年如此。"] * 600, needle, *["港口里有许多船只。"] * 300])
    parts = relevant_parts(text, "编年史", "学校的热泵有多大噪声？", 2_000)
    assert any(needle in text[start:end] for start, end in parts)


def test_without_a_word_in_common_the_beginning_is_shown() -> None:
    """A question that shares no word with the text, or asks nothing, gets as much of the beginning as there is room."""
    text = long_text()
    for wanted in ("zorvanium isotopes", ""):
        [(start, end)] = relevant_parts(text, "Chronicle", wanted, 5_000)
        assert start == 0
        assert 4_000 < end <= 5_000


def test_a_text_without_paragraphs_is_cut_too() -> None:
    """One endless line still gives parts, and the telling sentence among them."""
    text = " ".join([FILLER] * 300 + [NEEDLE] + [FILLER] * 300)
    parts = relevant_parts(text, "", "noise level of the heat pump", 3_000)
    assert any(NEEDLE in text[start:end] for start, end in parts)


def test_the_question_finds_its_passage_in_a_long_article_of_the_example() -> None:
    """Of all example articles in one text, the passages for a question hold the figure that answers it."""
    folder = Path(__file__).parents[3] / "examples" / "corpus"
    text = "\n\n".join(path.read_text() for path in sorted(folder.rglob("*.md")))
    parts = relevant_parts(text, "Heat pumps", "noise of air-source heat pumps: sound power level in dB(A)", 6_000)
    assert any("dB(A)" in text[start:end] for start, end in parts)
