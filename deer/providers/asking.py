"""What a question asks about, and how much of that a text covers.

Words that stand in no text at all decide whether a collection knows the subject: "the melting point of zorvanium-9" is
not answered by a passage about the melting point of ice.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from deer.providers.terms import CJK, CJK_DIGITS, STOP_WORDS, folded, pairs, terms, tokens

_FOCUS_WEIGHT = 2
_LAST_SPACED_LETTER = 0x2FFF

MIN_COVERAGE = 0.5
"""A text answers when it holds at least this share of what was asked, rare words weighing more."""

_CJK_STOPS = re.compile(
    "什么|多少|如何|怎么样|怎么|怎样|哪些|哪个|哪种|哪里|为什么|为何|是否|是不是|有没有|可以|能够|以及|请问|请|介绍|说明|解释|"
    "比较|对比|相比|相较|区别|差异|不同|我们|你们|他们|它们|这个|那个|这些|那些|一下|一个|一种|我想|知道|了解|研究|分析|调查|"
    "报告|总结|概述|资料|文档|分别|有何|几个|多大|多高|多长|多久|主要|关于|方面|之间|[的了吗呢吧是着之和与及或哪啊]"
)
_CJK_COSTS = re.compile("(成本|费用)")
_CJK_WEAK = frozenset(
    "在有对从到比为于中上下后前时会能要用以由向让使将就都也还不被把每个这那几多其各最更又很当若如" + CJK_DIGITS
)
_MEASURED = {
    "loud louder loudest quiet quieter quietest 吵": "noise",
    "tall taller tallest high higher highest": "height",
    "expensive cheap cheaper cheapest costly pay paid price priced": "cost",
    "cost costs price prices": "cost price",
    "heavy heavier heaviest": "weight",
    "wide wider widest": "width",
    "long longer longest": "length duration",
    "deep deeper deepest": "depth",
    "fast faster fastest": "speed",
    "big bigger biggest large larger largest": "size",
    "old older oldest": "built age",
    "hot hotter cold colder": "temperature",
    "powerful strong stronger": "power",
    "便宜 昂贵 更贵 划算 价钱 多贵": "费用 成本 价格",
    "成本 费用": "费用 成本",
    "更吵 吵闹 安静 多吵": "噪声 噪音",
    "更深 多深 最深": "深度 水深",
    "更高 最高": "高度",
    "更重 最重": "重量",
    "更快 最快": "速度",
    "效率 能效": "效率 能效",
}
"""Words that ask for a figure, and the nouns under which documents give it."""

_UNITS = {
    "费用 成本 价格": re.compile(r"\d\s?[万亿]?元"),
    "cost price": re.compile(
        r"(?:[$€£]|\b(?:EUR|USD|GBP|euros|dollars))\s?\d|\d\s?(?:[$€£]|(?:EUR|USD|GBP|euros?|dollars?)\b)"
    ),
    "noise 噪声 噪音": re.compile(r"\d\s?dB(?:\([A-Z]\)|\b)|\d\s?分贝"),
    "height 高度": re.compile(r"\d\s?(?:m|metres?|meters?|feet|ft)\b"),
    "weight 重量": re.compile(r"\d\s?(?:kg|g|t|tons?|tonnes?|kilograms?|pounds?|lb)\b"),
    "speed 速度": re.compile(r"\d\s?(?:km/h|m/s|mph|knots)\b"),
}
"""The units of a figure that answers although it does not say the noun: "45 dB(A)" is a noise."""

_UNIT_OF_MEASURE = {term: unit for nouns, unit in _UNITS.items() for term in terms(nouns)}
_NOUNS_OF = {word: terms(nouns) for words, nouns in _MEASURED.items() for word in words.split()}
_COLD, _HEAT = ("冬天", "冬季", "寒冷", "低温", "零下"), ("夏天", "夏季", "炎热", "高温")
_ALSO_SAID = {season: words for words in (_COLD, _HEAT) for season in words[:2]}
"""What a text about a season says without naming it: an efficiency "in winter" stands under "低温"."""

_CONDITION = re.compile("[在对于]")
_YEAR = re.compile(
    r"(?<![\w.,$€£¥-])(?:1[89]|20)\d\d(?![\w-]|[.,]\d)(?!\s?(?:[%°€$£¥]|(?:EUR|USD|GBP|CNY|euros?|dollars?|[kMG]?W|[kMG]?Wh"
    r"|kg|k?m|metres?|people|hours?|days?)\b))|(?<![\d.,])(?:1[89]|20)\d\d(?=年)"
)
_RANGE_OF_YEARS = re.compile(
    r"\b(?:since|after|before|between|from|until|till|up to|by)\b|\d\s?[-–—至到]\s?\d|以来|之前|之后|以前|以后|[自从]",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"\([^()]*\)")
_SENTENCE_START = re.compile(r"(?:^|[.?!:。？！：]\s*)$")
_OF_SUBJECT = re.compile(
    r"\b(?:what|which)\s+(?:is|are|was|were)\b[^?.!]*?\b(?:of|for)\s+(?P<subject>[^?.!,;]+)", re.IGNORECASE
)
_QUOTED = re.compile('["“「『《](?P<name>[^"”」』》]{2,60})["”」』》]')


@dataclass(frozen=True)
class Asked:
    """The terms of a question.

    `weak` terms count only where a text has them: numbers, pairs that join two Chinese words, measuring adjectives
    and their nouns, and what stands in brackets.
    `names` are groups of terms of which the rarest must be known: capitalised words, codes, quoted words.
    `subject`: terms of what the question asks something of; empty when it does not show.
    `focus`: terms behind a colon, as in "heat pumps: noise", which say what is asked of what stands before it.
    `measures`: terms of the measuring words and of their nouns, as in "how loud".
    `conditions`: terms behind the subject that say where or when, as in 热泵在冬天的效率.
    """

    terms: tuple[str, ...]
    weak: frozenset[str]
    names: tuple[tuple[str, ...], ...]
    subject: frozenset[str]
    focus: frozenset[str]
    measures: frozenset[str]
    conditions: frozenset[str] = frozenset()

    @property
    def numbers(self) -> frozenset[str]:
        """The numbers of the question, which are mostly conditions such as −15 °C."""
        return frozenset(term for term in self.weak if any(c.isdigit() for c in term))

    def coverage(
        self, present: Collection[str], weight: Callable[[str], float], required: Collection[str] = ()
    ) -> float:
        """The weighed share of the terms that are present, 0 to 1. Weak terms in `required` count as strong ones."""
        counted = {
            term: weight(term) * (_FOCUS_WEIGHT if term in self.focus else 1)
            for term in self.terms
            if term in present or term in required or term not in self.weak
        }
        whole = sum(counted.values())
        return sum(value for term, value in counted.items() if _is_said(term, present)) / whole if whole else 0.0

    def gives_measure(self, text: str) -> bool:
        """Whether a text has a figure in a unit of what is measured."""
        measured = self.measures & _UNIT_OF_MEASURE.keys()
        return any(_UNIT_OF_MEASURE[noun].search(text) for noun in sorted(measured))

    def meets_conditions(self, present: Collection[str]) -> bool:
        """Whether a text holds one of the conditions, in its own or in other words, if there are any."""
        return not self.conditions or any(_is_said(term, present) for term in self.conditions)

    def needed(self, share: float) -> float:
        """What to demand instead of a share that fits a short question: no text covers a long one whole."""
        return share * max(0.6, min(1.0, 6 / max(1, len(self.terms))))

    def known_names(self, frequency: Callable[[str], int]) -> frozenset[str]:
        """The rarest term of each name that some text has."""
        keys = (min(name, key=lambda term: (frequency(term), term)) for name in self.names)
        return frozenset(key for key in keys if frequency(key))

    def subject_key(self, frequency: Callable[[str], int]) -> str | None:
        """The rarest known pair of a Chinese subject, which tells its name from similar ones; None for others."""
        known = [term for term in self.subject if len(term) == 2 and frequency(term) and term not in self.weak]
        is_cjk = any(ord(term[0]) > _LAST_SPACED_LETTER for term in known)
        return min(known, key=lambda term: (frequency(term), term)) if is_cjk else None

    def is_foreign(self, frequency: Callable[[str], int]) -> bool:
        """Whether the texts behind `frequency` (in how many a term stands) do not know what this is about."""
        if not any(frequency(term) for term in self.terms):
            return True
        if self.names and not self.known_names(frequency):
            return True
        subject = [term for term in self.terms if term in self.subject and term not in self.weak]
        unknown = sum(not frequency(term) for term in subject)
        return unknown * 3 >= len(subject) > 0


def _is_said(term: str, present: Collection[str]) -> bool:
    return term in present or any(word in present for word in _ALSO_SAID.get(term, ()))


def asked(question: str) -> Asked:
    """Take a question apart."""
    found: dict[str, None] = {}
    weak: set[str] = set()
    measures: set[str] = set()
    for token in tokens(question):
        if token.is_cjk:
            for run in _cjk_runs(token.text):
                for pair in pairs(run):
                    found[pair] = None
                    nouns = _NOUNS_OF.get(pair, [])
                    found.update(dict.fromkeys(nouns))
                    measures.update((pair, *nouns) if nouns else ())
                    if len(pair) < 2 or not _CJK_WEAK.isdisjoint(pair):
                        weak.add(pair)
            numbers = [term for term in token.terms if term[-1].isdecimal() or term.endswith("deg")]
            found.update(dict.fromkeys(numbers))
            weak.update(numbers)
        else:
            found.update(dict.fromkeys(token.terms))
            if nouns := _NOUNS_OF.get(token.text.lower(), []):
                found.update(dict.fromkeys(nouns))
                measures.update((*token.terms, *nouns))
            weak.update(term for term in token.terms if token.text[0].isdigit())
    found = found or dict.fromkeys(terms(question))
    focus = _focus(question)
    weak.update(measures, terms(" ".join(_IN_BRACKETS.findall(question))))
    weak = set() if weak.issuperset(found) else weak
    names = tuple(_names(question, bool(focus)))
    subject, conditions = _subject_and_conditions(question)
    return Asked(tuple(found), frozenset(weak), names, subject, focus, frozenset(measures), conditions - weak - subject)


def years_in(text: str) -> frozenset[str]:
    """The years that a text names; figures with a unit are none."""
    return frozenset(_YEAR.findall(folded(text)))


def asked_years(question: str) -> frozenset[str]:
    """The years that an answer must be of; empty where the question asks about a range of years."""
    return frozenset() if _RANGE_OF_YEARS.search(folded(question)) else years_in(question)


def rarity(frequency: int, texts: int) -> float:
    """The weight of a term that stands in `frequency` of so many texts."""
    return math.log(1 + (texts + 1) / (frequency + 0.5))


def _cjk_runs(run: str) -> list[str]:
    """The parts of a run between words that only ask; a word for a cost is a part of its own."""
    return [part for piece in _CJK_STOPS.split(run) for part in _CJK_COSTS.split(piece) if part]


def _names(question: str, has_focus: bool) -> Iterator[tuple[str, ...]]:
    """Runs of capitalised words inside sentences, codes with digits, acronyms, quoted words.

    The first word of a sentence has its capital for another reason, but not that of "Oslo: harbour".
    """
    text = _IN_BRACKETS.sub("", folded(question))
    for match in _QUOTED.finditer(text):
        if quoted := terms(match["name"]):
            yield tuple(quoted)
    words = [token for token in tokens(text) if not token.is_cjk]
    capitals = sum(token.text[:1].isupper() for token in words)
    is_title_case = len(words) > 3 and capitals >= 0.7 * len(words)
    name: list[str] = []
    name_end = -1
    for token in words:
        is_code = any(c.isdigit() for c in token.text) and any(c.isalpha() for c in token.text)
        begins = _SENTENCE_START.search(text[: token.start]) and not (has_focus and token.start == 0)
        is_capital = token.text[:1].isupper() and not is_title_case and not begins
        is_acronym = len(token.text) > 1 and token.text.isupper() and not is_title_case
        if not (is_code or is_capital or is_acronym):
            continue
        if name and text[name_end : token.start].strip():
            yield tuple(name)
            name = []
        name.extend(token.terms)
        name_end = token.start + len(token.text)
    if name:
        yield tuple(name)


def _focus(question: str) -> frozenset[str]:
    before, colon, behind = folded(question).rpartition(": ")
    if not colon:
        before, colon, behind = question.rpartition("：")
    return frozenset(asked(behind).terms) if terms(before) and terms(behind) else frozenset()


def _subject_and_conditions(question: str) -> tuple[frozenset[str], frozenset[str]]:
    text = folded(question)
    if match := _OF_SUBJECT.search(text):
        return frozenset(terms(_noun_phrase(match["subject"]))), frozenset()
    head, of, _ = text.rpartition("的")
    if of and (run := re.search(rf"[{CJK}]+$", head)) and (parts := _cjk_runs(run.group())):
        # A text may put where and when in other words, so that they do not decide whether it knows the subject.
        subject, *conditions = _CONDITION.split(parts[-1], maxsplit=1)
        return frozenset(pairs(subject)), frozenset(pair for part in conditions for pair in pairs(part))
    return frozenset(), frozenset()


def _noun_phrase(text: str) -> str:
    """The words up to the first one that begins something else."""
    words = text.split()
    for position, word in enumerate(words):
        if word.lower() in STOP_WORDS and word.lower() not in {"the", "a", "an", "my", "our", "your", "its", "this"}:
            return " ".join(words[:position])
    return text
