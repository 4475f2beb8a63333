"""Taking a question apart into facets, each of which one research step can look up."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deer.models import SourceBrief, full
from deer.providers.asking import asked
from deer.providers.extractive.phrases import Phrases
from deer.providers.extractive.ranking import overlaps
from deer.providers.extractive.sentences import is_cjk
from deer.providers.terms import STOP_WORDS, terms

MAX_FACETS = 4
QUERY_SEPARATOR = "; "
"""Joins the queries of a facet that needs several."""

_TITLE_CHARS = 80
_MIN_OVERLAP = 0.6
_MAX_SIDE_WORDS = 8

_CLAUSES = re.compile(
    r"[?？;；]\s*|[,，]?\s+(?:and|or|but)\s+(?=(?:how|what|why|which|who|when|where|is|are|does|do|can|should)\b)"
    r"|(?:[，,；]\s*(?:以及|并且|而且|还有)?|(?:以及|并且|而且|还有))(?=[^，,；]*(?:什么|多少|如何|怎么|怎样|哪些|为什么|为何|是否|几))",
    re.IGNORECASE,
)
_ABOUT = (
    r"(?:\s*[,:]?\s*\b(?:in terms of|with regard to|with respect to|regarding|as to|by|on|(?P<field>for|in))\b\s*"
    r"(?P<about>.+))?"
)
_JOIN = r"(?:and|with|to|compared with|compared to|versus|vs\.?)"
_COMPARISONS = (
    re.compile(rf"\bcompar\w+\s+(?P<about>[^,]+?)\s+of\s+(?P<sides>.+?\s{_JOIN}\s[^,]+?)[.?!]*$", re.IGNORECASE),
    re.compile(r"(?P<about>.+?)\s+of\s+(?P<sides>.+?\scompared\s(?:with|to)\s[^,]+?)[.?!]*$", re.IGNORECASE),
    re.compile(rf"\bcompar\w+\s+(?P<sides>.+?)\s*{_ABOUT}[.?!]*$", re.IGNORECASE),
    re.compile(rf"\bdifferences?\s+between\s+(?P<sides>.+?)\s*{_ABOUT}[.?!]*$", re.IGNORECASE),
    re.compile(rf"^(?P<sides>.+?\s+(?:vs\.?|versus)\s+.+?)\s*{_ABOUT}[.?!]*$", re.IGNORECASE),
    re.compile(r"^(?P<about>(?:which|who|what)\b[^,:]*)[,:]\s*(?P<sides>.+?\s+or\s+.+?)[.?!]*$", re.IGNORECASE),
    re.compile(r"^(?P<sides>[^，。？的]+?)的(?P<about>[^，。？]+?)(?:相比|哪个|哪种|谁)[^，。？]*[。？]*$"),
    re.compile(r"(?:比较|对比)(?:一下)?(?P<sides>[^，。？]+?)(?:[在的](?P<about>[^。？]+?))?[。？]*$"),
    re.compile(
        r"^(?P<sides>[^，。？]+?)(?:相比|之间|的区别|的差异|的不同|有什么区别|有什么不同|有何区别|有何不同|哪个|哪种|谁)"
        r"(?P<about>[^。？]*)[。？]*$"
    ),
)
_THAN = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have)\s+(?P<one>[^,?]+?)\s+(?P<about>\w+er|(?:more|less)\s+\w+)\s+than\s+"
    r"(?P<two>[^,?]+?)[?.!]*$",
    re.IGNORECASE,
)
_FORM_OF_ANSWER = re.compile(
    r"\s*,?\s+(?:with|giving|including|citing)\s+(?:the\s+|all\s+|some\s+|concrete\s+)?"
    r"(?:figures|numbers|data|sources|citations|examples)(?=[.?!]*$)",
    re.IGNORECASE,
)
_SIDES = re.compile(rf"\s*,\s*(?:(?:{_JOIN}|or)\s+)?|\s+(?:{_JOIN}|or)\s+|[、和与跟及]|还是|相比", re.IGNORECASE)
_ASPECT_JOINTS = re.compile(r",\s*(?:and\s+)?|\s+and\s+|[、和与及]")
_LIST_OF_SUBJECT = re.compile(
    r"\b(?P<aspects>[\w' -]+(?:, [\w' -]+)*,? and [\w' -]+?)\s+of\s+(?P<subject>[^,?.!;]+)", re.IGNORECASE
)
_LIST_AFTER_DE = re.compile(r"(?P<subject>[^，。？的]+)的(?P<aspects>[^，。？的]+(?:[、和与及][^，。？的]+)+)")
_ASKS_OR_TELLS = re.compile("[谁何哪几了吗]|什么|多少")
_ASKING = re.compile(
    r"^(?:and|or|but|so|please)?\s*(?:how|what|which|who|whose|when|where|why|is|are|was|were|do|does|did|can|could|should|"
    r"will|would|has|have|compare|explain|describe|list|tell|give|show|find)\b|[谁何哪几吗呢]|什么|多少|怎|是否",
    re.IGNORECASE,
)
_TELLING = re.compile(r"\b(?:is|are|was|were|has|have|had|will)\b|\w['’](?:s|m|re|ve)\b|[是有]", re.IGNORECASE)
_QUOTES = re.compile('["“”`「」『』]')
_SIGNS = re.compile(r"(?:(?:^|\s)(?:at|for|from|under|over|about|with))?(?:^|\s)[$€£¥&<>|{}\\=*#@^~+%].*$")
_CUT_LOOSELY = re.compile(r",|\bor\b", re.IGNORECASE)
_NAME = re.compile(r"(?<!^)\b[A-Z][\w-]+(?: [A-Z0-9][\w-]*)*")
_PRONOUN = re.compile(r"\b(?:it|its|they|them|their|this|these|those)\b|[它其]", re.IGNORECASE)
_NEXT_PHRASE = re.compile(r"\s(?:in|on|at|by|for|with|when|if|while|and|or|to|from|during)\s")
_QUESTION_LEAD = re.compile(
    r"^(?:please\s+)?(?:what|which|how|who|when|where|why|tell|explain|describe|compare|list|give|show|is|are|was|were|do|"
    r"does|did|can|the|a|an|its|their|my|our|your|me|us|about|much|many)\b(?:['’]s\b)?\s*",
    re.IGNORECASE,
)
_CJK_LEAD = re.compile(
    "^(?:请问|请|帮我|我想知道|介绍一下|介绍|说明|解释|比较|对比|研究|分析)+|(?:是|有|分别)?(?:多少|什么|哪些|如何|怎样|怎么样|几何)[呢吗]?$"
)


@dataclass(frozen=True)
class Facet:
    """A side of the question: `title` for people, `query` to search with.

    `is_article`: the title is that of a source, which is asked the question.
    """

    title: str
    query: str
    is_article: bool = False


@dataclass(frozen=True)
class Facets:
    """The facets of a question; `are_sides` tells that it compares them."""

    found: tuple[Facet, ...]
    are_sides: bool = False


def facets_of(topics: Sequence[str], background: Sequence[SourceBrief], phrases: Phrases) -> Facets:
    """Two to four facets where the words give them, else one. The query of each names the subject it asks about."""
    if len(topics) > 1:
        return Facets(tuple(Facet(_title(topic), topic) for topic in topics))
    topic = " ".join(topics[0].split())
    known = frozenset(term for source in background for term in terms(f"{source.title} {full(source.text)}"))
    parts = _asking_parts(topic, known)
    if len(parts) > 1:
        return Facets(tuple(_clauses(parts)[:MAX_FACETS]))
    topic = parts[0] if parts else topic
    if len(sides := _sides(topic, known)) > 1:
        return Facets(tuple(sides[:MAX_FACETS]), are_sides=True)
    direct = Facet(phrases.direct_answer, topic)
    if len(aspects := _aspects(topic)) > 1:
        return Facets(tuple(aspects[:MAX_FACETS]))
    return Facets((direct, *_related(topic, background, phrases)))


def _asking_parts(topic: str, known: frozenset[str]) -> list[str]:
    """The questions in one; what only tells something, or holds no words, is none. The topic itself where it is one."""
    parts = [part.strip(" .。") for part in _CLAUSES.split(topic) if part]
    parts = [part for part in parts if asked(part).terms]
    if len(parts) < 2:
        return [topic]
    return [part for part in parts if _asks(part, known)]


def _asks(part: str, known: frozenset[str]) -> bool:
    has_words = any(term.isalpha() for term in asked(part).terms)
    if not has_words or _ASKING.search(part):
        return has_words
    return not _TELLING.search(part) and _is_known(part, known)


def _is_known(part: str, known: frozenset[str]) -> bool:
    """Whether the sources at hand have a word of a part, or it is a name. Without sources everything may be known."""
    return not known or not known.isdisjoint(terms(part)) or any(word[:1].isupper() for word in part.split())


def _clauses(parts: Sequence[str]) -> list[Facet]:
    """Several questions in one; a later one that names no subject is asked about the first one's."""
    subject = _subject_words(parts[0]) or _after_verb(parts[0])
    return [
        Facet(_title(part), part if place == 0 or _names_subject(part) else focused_query(subject, part))
        for place, part in enumerate(parts)
    ]


def _names_subject(clause: str) -> bool:
    about = asked(clause)
    if _PRONOUN.search(clause):
        return False
    return bool(about.names) or len(about.terms) > 2 or bool(about.subject)


def _sides(topic: str, known: frozenset[str] = frozenset()) -> list[Facet]:
    """The things that a question compares. Commas and "or" part only what the sources know: they often part else."""
    topic = _FORM_OF_ANSWER.sub("", topic)
    topic = _THAN.sub(r"compare \g<one> and \g<two> on \g<about>", topic)
    for pattern in _COMPARISONS:
        match = pattern.search(topic)
        if not match:
            continue
        sides = _with_shared_head([_worded(side) for side in _SIDES.split(match["sides"]) if side.strip()])
        if len(sides) < 2 or any(not terms(side) or len(side.split()) > _MAX_SIDE_WORDS for side in sides):
            continue
        if _CUT_LOOSELY.search(match["sides"]) and not all(_is_known(side, known) for side in sides):
            continue
        about = _bare(match["about"] or "")
        about = about if asked(about).terms else ""
        if match.groupdict().get("field"):  # "in Temporal" says where the sides are found, not what is asked of them
            return [Facet(_title(side), f"{side} ({about})" if about else side) for side in sides]
        return [Facet(_title(side), _side_query(side, about)) for side in sides]
    return _coordinated_names(topic)


def focused_query(subject: str, aspect: str) -> str:
    """A query that asks an aspect of a subject, which `asked` tells apart by the colon."""
    return f"{subject}{'：' if is_cjk(subject) else ': '}{aspect}" if subject and aspect else subject or aspect


def aspect_of_subject(wanted: str, topic: str) -> str:
    """A query for what somebody wants to know besides a question: those words, asked of the question's subject.

    Words that the subject has already are left out, since they do not tell what is wanted.
    """
    subject = _subject_words(topic) or _after_verb(topic) or _bare(topic)
    of_subject = set(terms(subject))
    aspect = " ".join(word for word in wanted.split() if of_subject.isdisjoint(terms(word)) or is_cjk(word))
    return focused_query(subject, aspect) if terms(aspect) else wanted


def names_other_side(question: str, query: str, text: str) -> bool:
    """Whether a text names another side of a comparison than the one that a query asks about, and not that one."""
    sides = _sides(" ".join(question.split()))
    own = next((side for side in sides if query in side.query.split(QUERY_SEPARATOR)), None)
    if own is None:
        return False
    said = set(terms(text))
    own_terms = set(terms(own.title))
    others = [set(terms(side.title)) for side in sides if side is not own]
    tells_own = own_terms.difference(*others)
    tells_others = set[str]().union(*others) - own_terms
    return bool(tells_own) and not said.isdisjoint(tells_others) and said.isdisjoint(tells_own)


def _side_query(side: str, about: str) -> str:
    """One query for each aspect of a side, so that each finds its own best sources."""
    aspects = [aspect for aspect in _ASPECT_JOINTS.split(about) if asked(aspect).terms]
    return QUERY_SEPARATOR.join(focused_query(side, aspect) for aspect in aspects) or side


def _with_shared_head(sides: list[str]) -> list[str]:
    """Give the last side's noun to all, as in "air-source and ground-source heat pumps" or "Orlan and Velmar dam"."""
    modifier, _, head = sides[-1].partition(" ") if sides else ("", "", "")
    if not head:
        return sides

    def lacks_head(side: str) -> bool:
        both_hyphened = "-" in side and "-" in modifier
        return " " not in side and (both_hyphened or (side[:1].isupper() and modifier[:1].isupper()))

    return [f"{side} {head}" if lacks_head(side) else side for side in sides[:-1]] + sides[-1:]


def _coordinated_names(topic: str) -> list[Facet]:
    """Sides that no word of comparison announces: two names joined by "and"."""
    match = re.search(r"\b(?P<one>[A-Z][\w-]*(?: [A-Z0-9][\w-]*)*) and (?P<two>[A-Z][\w-]*(?: [A-Z0-9][\w-]*)*)", topic)
    if not match or not terms(match["one"]) or not terms(match["two"]) or match["one"].lower() in STOP_WORDS:
        return []
    rest = _bare(f"{topic[: match.start()]} {topic[match.end() :]}")
    return [Facet(name, focused_query(name, rest)) for name in (match["one"], match["two"])]


def _aspects(topic: str) -> list[Facet]:
    for pattern, joint in ((_LIST_OF_SUBJECT, " of "), (_LIST_AFTER_DE, "的")):
        if not (match := pattern.search(topic)):
            continue
        subject = _bare(match["subject"])
        aspects = [_bare(aspect) for aspect in _ASPECT_JOINTS.split(match["aspects"])]
        aspects = [aspect for aspect in aspects if asked(aspect).terms]
        if len(aspects) > 1 and asked(subject).terms:
            return [
                Facet(
                    _title(aspect + joint + subject if joint == " of " else subject + joint + aspect),
                    focused_query(subject, aspect),
                )
                for aspect in aspects
            ]
    return []


def _related(topic: str, background: Sequence[SourceBrief], phrases: Phrases) -> Iterator[Facet]:
    """Titles of background sources as further facets; without any, the subject by itself."""
    seen: set[str] = set()
    measures = asked(topic).measures
    for source in background:
        title = " ".join(source.title.split())
        said = f"{title} {full(source.text)}"
        gives_measure = not measures or not measures.isdisjoint(terms(said))
        is_close = gives_measure and overlaps(topic, said) >= _MIN_OVERLAP
        if is_close and terms(title) and title.casefold() not in seen and len(seen) < MAX_FACETS - 2:
            seen.add(title.casefold())
            short = title if len(title) <= _TITLE_CHARS else title[: _TITLE_CHARS - 1].rstrip() + "…"
            yield Facet(short, focused_query(short.removesuffix("…"), topic), is_article=True)
    subject = _subject_words(topic)
    if not seen and subject and len(terms(subject)) < len(terms(topic)):
        yield Facet(phrases.overview.format(subject=subject), subject)


def _subject_words(topic: str) -> str:
    """What a question is about: what stands after "of" or before the last 的, else its names."""
    if is_cjk(topic) and "的" in topic:
        subject = _bare(re.split("[在对]", topic.rpartition("的")[0])[0])
        return "" if _ASKS_OR_TELLS.search(subject) else subject
    if match := re.search(r"\b(?:of|about) (?P<subject>[^,?.!;]+)", topic, re.IGNORECASE):
        return _bare(_NEXT_PHRASE.split(match["subject"])[0])
    return " ".join(dict.fromkeys(_NAME.findall(topic)))


def _after_verb(clause: str) -> str:
    """What a clause without names is about: "how loud are heat pumps", 热泵在低温下效率如何."""
    if is_cjk(clause):
        return _bare(re.split("[在对能会是有]", clause)[0])
    match = re.search(r"\b(?:is|are|was|were|do|does|did|can|will|should)\s+(?P<subject>.+)", clause, re.IGNORECASE)
    return _bare(_NEXT_PHRASE.split(match["subject"])[0]) if match else ""


def _bare(text: str) -> str:
    """A phrase without the words that only make it a question."""
    text = text.strip(" ,.?!:;，。？！：；、")
    text = _CJK_LEAD.sub("", text)
    while (shorter := _QUESTION_LEAD.sub("", text)) != text:
        text = shorter
    return text.strip(" ,.?!:;，。？！：；、")


def _worded(text: str) -> str:
    """A phrase without marks around its words, up to the first sum or sign: "gas" at $100 is gas."""
    return _bare(_SIGNS.sub("", _QUOTES.sub("", text).strip()))


def _title(text: str) -> str:
    text = " ".join(text.split()).strip(" .。")
    text = text if len(text) <= _TITLE_CHARS else text[: _TITLE_CHARS - 1].rstrip() + "…"
    return text[:1].upper() + text[1:]
