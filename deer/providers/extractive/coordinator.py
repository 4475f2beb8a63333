"""The coordinator without a model: small talk is answered, every other message goes to the planner."""

import re
from typing import NamedTuple

from deer.models import CoordinatorBrief
from deer.providers.asking import asked
from deer.providers.extractive.phrases import Phrases, phrases_for
from deer.providers.terms import CJK

MAX_TOPICS = 4

_GREETING = re.compile(
    r"(?:hi|hello|hey|howdy|greetings|good (?:morning|afternoon|evening|day)|how are you(?: doing)?(?: today)?|"
    r"nice to meet you|what'?s up|there|you|all|deer|friend|"
    r"你好|您好|嗨|哈喽|早上好|下午好|晚上好|早安|晚安|大家好|在吗|吗|啊|呀)+",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:thanks?|thank you|thx|cheers|so much|very much|a lot|again|great|well done|ok(?:ay)?|perfect|"
    r"谢谢|多谢|感谢|辛苦|你|您|了|好的|太好|太棒)+",
    re.IGNORECASE,
)
_FAREWELL = re.compile(r"(?:bye|goodbye|see you|later|good night|再见|拜拜|回头见)+", re.IGNORECASE)
_ABOUT = re.compile(
    r"(?:who|what) are you|what can you do|what(?:'s| is) your name|help|test(?:ing)?|introduce yourself|"
    r"你是谁|你是什么|你叫什么(?:名字)?|你能做什么|你会什么|介绍一下你自己|帮助|测试",
    re.IGNORECASE,
)
_LANGUAGES = (
    (re.compile(r"\bin chinese\b|用中文|用汉语|中文(?:回答|报告|撰写|写)", re.IGNORECASE), "zh-CN"),
    (re.compile(r"\bin english\b|用英文|用英语|英文(?:回答|报告|撰写|写)", re.IGNORECASE), "en-US"),
)
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_KANA_OR_HANGUL = re.compile("[\u3040-\u30ff\uac00-\ud7af]")
_LATIN_WORD = re.compile(r"[A-Za-z]+")
_SMALL_TALK_CHARS = 80
_QUESTION_END = re.compile(r"(?<=[?？])\s*|\n\s*\n\s*")


class Coordination(NamedTuple):
    """What to do with a message: answer it, or research its topics."""

    locale: str
    answer: str | None
    topics: tuple[str, ...]


def coordinate(brief: CoordinatorBrief) -> Coordination:
    """Decide by the words of the question alone."""
    locale = brief.locale if brief.locale_is_fixed else _locale_of(brief.question)
    if answer := _small_talk(brief.question, phrases_for(locale)):
        return Coordination(locale, answer, ())
    return Coordination(locale, None, _topics(brief.question))


def _locale_of(question: str) -> str:
    for pattern, locale in _LANGUAGES:
        if pattern.search(question):
            return locale
    han = len(_HAN.findall(question))
    other = len(_KANA_OR_HANGUL.findall(question)) + len(_LATIN_WORD.findall(question))
    return "zh-CN" if han > other else "en-US"


def _small_talk(question: str, phrases: Phrases) -> str | None:
    words = " ".join(re.sub(rf"[^\w{CJK}' ]", " ", question).split())
    if not words:
        return phrases.greeting
    if len(words) > _SMALL_TALK_CHARS:
        return None
    plain = words.replace(" ", "")
    for pattern, answer in (
        (_GREETING, phrases.greeting),
        (_THANKS, phrases.thanks),
        (_FAREWELL, phrases.farewell),
        (_ABOUT, phrases.about),
    ):
        spaceless = re.compile(pattern.pattern.replace(" ", ""), re.IGNORECASE)
        if pattern.fullmatch(words) or spaceless.fullmatch(plain):
            return answer
    return None


def _topics(question: str) -> tuple[str, ...]:
    """One topic for each question that stands by itself; a question that leans on an earlier one stays with it."""
    parts = [part.strip() for part in _QUESTION_END.split(question) if part.strip()]
    if len(parts) < 2 or len(parts) > MAX_TOPICS or not all(_stands_alone(part) for part in parts):
        return (question,)
    return tuple(parts)


def _stands_alone(part: str) -> bool:
    about = asked(part)
    leans = re.search(
        r"\b(?:it|its|they|them|their|this|that|these|those)\b|[它他她]|这个|那个|其", part, re.IGNORECASE
    )
    return len(about.terms) >= 2 and not leans and part[-1] in "?？"
