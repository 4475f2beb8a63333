"""Cutting texts into sentences and rows that can be quoted to the letter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deer.providers.extractive.sentences import MAX_QUOTE_CHARS, readable, sentences_of

ARTICLE = """---
author: nobody
---
# Pumps

The COP is 3.2 at 7 °C, e.g. in spring. It falls to 2.1
at −15 °C. See [the guide](http://x.test/z_(a)) and **bold** words [s1-2].

- Item one has 4 kW
- Dr. Brandt measured 5 kW. The U.S. office did not.

> A quoted line that goes
> on below.

| Outdoor | COP | Output |
| --- | :-: | --- |
| 7 °C | 3.2 | 8 kW |
| −7 °C | 2.6 | - |

```
code is not. Quoted here.
```
热泵的噪声约为45分贝。它在夜间会降低！“真的吗？”她问道，没有人回答。
"""


def test_sentences_of_an_article_are_read_one_by_one() -> None:
    """Abbreviations, decimals, lists, quotations and Chinese marks are cut where a reader would cut them."""
    assert [sentence.text for sentence in sentences_of(ARTICLE) if not sentence.is_row] == [
        "The COP is 3.2 at 7 °C, e.g. in spring.",
        "It falls to 2.1 at −15 °C.",
        "See the guide and bold words (s1-2).",
        "Item one has 4 kW.",
        "Dr. Brandt measured 5 kW.",
        "The U.S. office did not.",
        "A quoted line that goes on below.",
        "热泵的噪声约为45分贝。",
        "它在夜间会降低！",
        "她问道，没有人回答。",
    ]


def test_rows_of_a_table_carry_the_heads_of_their_columns() -> None:
    """A row reads as a sentence, while its quote is the line of the table; a cell with a dash says nothing."""
    rows = [sentence for sentence in sentences_of(ARTICLE) if sentence.is_row]
    assert [(row.quote, row.text) for row in rows] == [
        ("| 7 °C | 3.2 | 8 kW |", "Outdoor 7 °C: COP 3.2; Output 8 kW."),
        ("| −7 °C | 2.6 | - |", "Outdoor −7 °C: COP 2.6."),
    ]


def test_rows_of_csv_are_quoted_as_they_stand() -> None:
    """Quoted cells are read, broken lines are passed over, the quote is the line."""
    text = 'name,output (MW)\n"Korvel, north",4.2\nGrel;3\n"open,5\nMorvik,7.5\n'
    assert [(row.quote, row.text) for row in sentences_of(text, is_csv=True)] == [
        ('"Korvel, north",4.2', "Korvel, north: output (MW) 4.2."),
        ("Morvik,7.5", "Morvik: output (MW) 7.5."),
    ]


def test_every_quote_stands_in_the_text() -> None:
    """Quotes keep line breaks and markup, alone and with the sentence before them."""
    for sentence in sentences_of(ARTICLE):
        assert sentence.quote in ARTICLE
        assert sentence.extended in ARTICLE


@given(st.text(alphabet=st.sampled_from(list("aB1 .。！|-#*>`[]()\n\t\u202e\x00热泵的,;:\"'")), max_size=400))
def test_any_text_is_cut_without_harm(text: str) -> None:
    """Whatever the text, quotes stand in it, stay within their length and hold no control characters."""
    for sentence in sentences_of(text) + sentences_of(text, is_csv=True):
        assert sentence.quote in text
        assert len(sentence.quote) <= MAX_QUOTE_CHARS
        assert "\x00" not in sentence.quote
        assert "\u202e" not in sentence.quote


@pytest.mark.parametrize(
    ("quote", "shown"),
    [
        ("an `open span", "an 'open span"),
        ("a <script>alert(1)</script> b", "a alert(1) b"),
        ("![x](http://a.test/b.png) picture", "picture"),
        ("热泵\n的噪声", "热泵的噪声"),
        ("a\n> b", "a b"),
    ],
)
def test_markup_is_taken_out_for_reading(quote: str, shown: str) -> None:
    """Nothing in a sentence can pass for a citation, a link or an open code span."""
    assert readable(quote) == shown


def test_lines_without_an_end_are_not_quoted() -> None:
    """A line of many thousand characters gives no sentence and takes no time."""
    assert sentences_of("x" * 200_000) == []
    assert sentences_of("word " * 50_000) == []
