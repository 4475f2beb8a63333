"""Reading a reviewer's words without a model: each clause removes steps that it names, or asks for something more."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deer.models import Step, StepType
from deer.providers.terms import terms

_ZH_DIGITS = "一二三四五六七八九"
_POLITE = r"(?:(?:please|kindly|and|but|also|then|just|could|can|would|you|I|we|want|like|should|to)\s+)*"
_REMOVING = r"(?:drop(?!\s+(?:in|of|off)\b)|remove|delete|skip|omit|exclude|leave\s+out|take\s+out|without)"
_ASKING = r"(?:add|also|compare|include|look|consider|check|find|tell|explain|research|leave|take|what|how)"
_ZH_POLITE = "(?:请|再|还|也|并且|并|然后|另外|同时)*"
_ZH_REMOVING = "(?:去掉|去除|删除|删掉|删去|移除|取消|略过|跳过|不要)"
_ZH_ASKING = "(?:增加|加上|加入|补充|添加|比较|对比|研究|考虑|看看|把)"

_CLAUSE_END = re.compile(
    r"[;；。！!?？\n]+|\.\s+(?=[A-Z])|\.\s*$"
    rf"|(?:,\s*(?:(?:and|but|then)\s+)?|\s+(?:and|but|then)\s+)(?={_POLITE}(?:{_REMOVING}|{_ASKING})\b)"
    rf"|[,，]\s*(?={_ZH_POLITE}(?:{_ZH_REMOVING}|{_ZH_ASKING}))",
    re.IGNORECASE,
)
_REMOVALS = (
    re.compile(rf"^{_POLITE}(?:leave|take)\s+(?P<what>.+?)\s+out$", re.IGNORECASE),
    re.compile(rf"^{_POLITE}{_REMOVING}\s+(?P<what>.+)$", re.IGNORECASE),
    re.compile(rf"^{_ZH_POLITE}把(?P<what>.+?){_ZH_REMOVING}[吧了]*$"),
    re.compile(rf"^{_ZH_POLITE}{_ZH_REMOVING}(?P<what>.+?)[吧了]*$"),
)
_AND = re.compile(r"\s*,\s*(?:and\s+)?|\s+(?:and|or)\s+|[、，和与及]", re.IGNORECASE)
_NUMBER = re.compile(rf"^(?:steps?\s*|步骤|第)?s?(?P<number>\d+|[{_ZH_DIGITS}])(?:个?步骤?)?$", re.IGNORECASE)
_AROUND_A_TITLE = re.compile(
    r"^(?:(?:the|a|an|any|all|this|that|step|section|part)\s+)*(?:(?:on|about)\s+)?(?:the\s+)?"
    r"|(?:\s+(?:step|section|part|please|too|as\s+well))+$|(?:这?一?步骤?|部分)$",
    re.IGNORECASE,
)
_ANY_ANALYSIS = frozenset({"comparison", "comparisons", "analysis", "table", "比较", "对比", "对照", "分析"})
_REQUEST_LEAD = re.compile(
    r"^(?:(?:please|kindly|and|but|also|then|just|could|can|would|you|I|we|want|like|should|to|add|include|compare|look|"
    r"at|into|consider|check|find|out|tell|me|explain|research|more|with|about|what|how|is|are|the|a|an|step|for|on)\b\s*)+",
    re.IGNORECASE,
)
_REQUEST_TAIL = re.compile(r"(?:\s*,?\s*\b(?:too|also|as well|please|instead|in addition))+$", re.IGNORECASE)
_ZH_REQUEST_LEAD = re.compile(f"^(?:请|再|还|也|并且|并|然后|另外|同时|要|{_ZH_ASKING}|一下|一个|关于|说明|介绍|步骤)+")


@dataclass(frozen=True)
class Changes:
    """What feedback asks of a plan.

    `removed`: ids of steps. `added`: clauses that ask for more. `unmatched`: removals that name no step, or several.
    """

    removed: frozenset[str]
    added: tuple[str, ...]
    unmatched: tuple[str, ...]


def changes_asked(feedback: str, steps: Sequence[Step]) -> Changes:
    """Take feedback apart. Clauses that hold no word to look for ask for nothing."""
    removed: set[str] = set()
    added: list[str] = []
    unmatched: list[str] = []
    for clause in (" ".join(part.split()) for part in _CLAUSE_END.split(feedback) if part):
        removal = next((match for pattern in _REMOVALS if (match := pattern.match(clause))), None)
        if removal is None:
            added.extend([clause] if terms(clause) else [])
        elif named := _named_steps(removal["what"], steps):
            removed.update(named)
        else:
            unmatched.append(clause)
    return Changes(frozenset(removed), tuple(added), tuple(unmatched))


def wanted_words(clause: str) -> str:
    """What a request asks for, without the words that only ask: "compare the costs too" wants "costs"."""
    text = clause.strip(" ,.;:!?，。；：！？")
    text = _REQUEST_TAIL.sub("", text)
    bare = _ZH_REQUEST_LEAD.sub("", _REQUEST_LEAD.sub("", text)).strip()
    return bare if terms(bare) else text


def _named_steps(what: str, steps: Sequence[Step]) -> list[str]:
    """The ids of the steps that a removal names, one or several; empty when a part of it names none."""
    parts = [_named_step(part, steps) for part in _AND.split(what) if part.strip()]
    named = parts if parts and all(parts) and not _titled(what, steps) else [_named_step(what, steps)]
    return [step.id for step in named if step]


def _named_step(what: str, steps: Sequence[Step]) -> Step | None:
    name = _unquoted(what)
    if number := _NUMBER.match(name):
        return _numbered(number["number"], steps)
    if exact := _titled(what, steps):
        return exact
    bare = _AROUND_A_TITLE.sub("", name)
    words = set(terms(bare))
    alike = {step.id: _likeness(words, set(terms(step.title))) for step in steps}
    best = max(alike.values(), default=0.0)
    named = [step for step in steps if best and alike[step.id] == best]
    if not named and bare in _ANY_ANALYSIS:
        named = [step for step in steps if step.step_type is StepType.ANALYSIS]
    return named[0] if len(named) == 1 else None


def _titled(what: str, steps: Sequence[Step]) -> Step | None:
    name = _unquoted(what)
    wordings = (name, _AROUND_A_TITLE.sub("", name))
    return next((step for step in steps if step.title.casefold() in wordings), None)


def _unquoted(text: str) -> str:
    return text.strip(" \"'“”‘’.,").casefold()


def _likeness(words: set[str], title: set[str]) -> float:
    """The share of words in common where one holds the other whole, else 0."""
    if not words or not title or not (words <= title or title <= words):
        return 0.0
    return len(words & title) / len(words | title)


def _numbered(written: str, steps: Sequence[Step]) -> Step | None:
    number = _ZH_DIGITS.index(written) + 1 if written in _ZH_DIGITS else int(written)
    by_id = next((step for step in steps if step.id == f"s{number}"), None)
    return by_id or (steps[number - 1] if 0 < number <= len(steps) else None)
