"""Which figures and names of a claim its quote lacks, and the words that come nearest to a quote."""

import pytest

from deer.evidence import nearest_wording, not_in_quote


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("The COP fell to 2.1 at -15 °C [s1-2].", "COP fell to 2.1 at −15 °C"),
        ("It cost 2.5 million in 2024.", "a cost of 2,500,000 (2024)"),
        ("On March 3, 2024 the plant opened.", "The plant opened on 2024-03-03"),
        ("There are 3 teams.", "three teams exist"),
        ("Revenue reached 1.500 units.", "revenue was 1,500 units"),
        ("Umsatz stieg auf 12 000.", "rose to 12,000"),
        ("A value of 15 000 was seen in 2024.", "a value of 15,000, seen in 2024"),
        ("营收为2.5亿元", "营收达250,000,000元"),
        ("共有三个小组", "共有3个小组"),
        ("The wall is 5 m high.", "5 metres high"),
        ("It has 1,000,000 lines.", "one million lines"),
        ("Some 1000 came.", "a thousand came"),
        ("It cost 1.2 billion.", "es kostete 1,2 Milliarden"),
        ("It cost $1.3B.", "a price of $1.3 billion"),
        ("It has 21 seats.", "with twenty-one seats"),
        ("In the 19th century.", "in the nineteenth century"),
        ("世界人口为80亿", "约八十亿"),
        ("The GDP grew.", "the gross domestic product grew"),
        ("The US grew there.", "the United States grew"),
        ("Sales of Intel's plant grew.", "sales of the Intel plant grew"),
        ("Deutschland verdoppelt seine Leistung.", "Germany doubles its capacity"),
        ("Die Wirkung der Pumpe und das Haus leiden.", "wenn das Haus kalt ist, fällt die Leistung und mehr"),
    ],
)
def test_what_the_quote_has_in_other_spelling_is_there(claim: str, quote: str) -> None:
    """Separators, scales, months, small numbers in words and other languages make no difference to a value."""
    assert not_in_quote(claim, quote) == ()


@pytest.mark.parametrize(
    ("claim", "quote", "missing"),
    [
        ("The COP fell to 2.1.", "the COP fell to 3.1", ("2.1",)),
        ("It cost 2.5 million.", "it cost 2.5 thousand", ("2.5 million",)),
        ("It cost 2 million.", "it cost 2 billion", ("2 million",)),
        ("It has 25 seats.", "with twenty-one seats", ("25",)),
        ("Opened in March 2024.", "opened in 2023", ("2024",)),
        ("Sales of Intel grew 5 %.", "sales grew 5 %", ("Intel",)),
        ("The plant runs on GPT-4 and LPG.", "the plant runs on GPT-4", ("LPG",)),
        ("营收为3亿元", "营收达250,000,000元", ("3亿",)),
    ],
)
def test_what_the_quote_lacks_is_named(claim: str, quote: str, missing: tuple[str, ...]) -> None:
    """A figure of another value, a year and a name that the quote does not say are told as the claim writes them."""
    assert not_in_quote(claim, quote) == missing


def test_the_nearest_words_are_those_of_the_text() -> None:
    """The wording comes as it stands in the text, with its typography; what is another sentence is none."""
    texts = [
        "Nothing here.",
        "Intro. The heat pump’s COP fell\nto 2.1 at −15 °C in winter. The end.",
        "能效比在冬季下降到2.1。",
    ]
    assert (
        nearest_wording("the heat pumps COP dropped to 2.1 at -15 °C", texts)
        == "Intro. The heat pump’s COP fell to 2.1 at −15 °C in winter"
    )
    assert nearest_wording("能效比冬季下降到2.1", texts) == "能效比在冬季下降到2.1"
    assert nearest_wording("something else was measured altogether", texts) is None
    assert nearest_wording("", texts) is None
