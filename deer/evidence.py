"""The source register, the check of quotes, and the citations of a report."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import BaseModel

from deer.models import Check, Claim, FoundSource, Source, SourceBrief, StoredText

T = TypeVar("T")

_TRACKING = re.compile(r"^(utm_\w+|fbclid|gclid|msclkid|mc_[ce]id|igshid|ref_src)$")
_MIN_QUOTE_CHARS = 8
"""Shorter quotes are found by chance."""

_TYPOGRAPHY = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "−": "-", "…": "..."}
)


def normalised_address(url: str) -> str:
    """The key under which one page is one source: no scheme, `www.`, fragment, tracking or trailing slash.

    Other query parameters stay, as `?id=1` and `?id=2` are two pages.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:  # such as a broken IPv6 literal or port; such an address is its own key
        return url.strip()
    host = (parts.hostname or "").removeprefix("www.")
    if port not in (None, 80, 443):
        host = f"{host}:{port}"
    query = urlencode(
        sorted(
            (key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if not _TRACKING.match(key)
        )
    )
    scheme = "" if parts.scheme in ("http", "https") else parts.scheme
    return urlunsplit((scheme, host, parts.path.rstrip("/"), query, ""))


class SourceRegister(BaseModel):
    """All sources of a run or of one step, each known by one address.

    The first id given to an address wins; later ids remain aliases that always resolve.
    """

    prefix: str
    """`b` for the background search, else the step's id; ids are `<prefix>-<n>`."""
    sources: dict[str, Source] = {}
    ids_by_address: dict[str, str] = {}
    first_ids: dict[str, str] = {}
    """Alias to first id."""
    named_before: int = 0
    """How many ids with this prefix were given elsewhere before; they are not given again."""

    def add(self, found: FoundSource) -> Source:
        """Register what a search or a page brought; the same address again adds to what is known of it."""
        address = normalised_address(found.url)
        if (known := self.ids_by_address.get(address)) is not None:
            return self._widen(known, found)
        source = Source(
            id=f"{self.prefix}-{self.named_before + len(self.sources) + 1}",
            url=found.url,
            title=found.title or found.url,
            summary=found.summary,
            score=found.score,
            texts=(found.text,) if found.text else (),
            read=found.read,
        )
        return self._keep(address, source)

    def merge(self, sources: Iterable[Source]) -> None:
        """Take over what a step registered; its ids become aliases where the address is known already."""
        for source in sources:
            address = normalised_address(source.url)
            known_id = self.ids_by_address.get(address)
            if known_id is None:
                self._keep(address, source)
            else:
                known = self.sources[known_id]
                others = tuple(alias for alias in (source.id, *source.aliases) if alias != known_id)
                self.sources[known_id] = known.model_copy(
                    update={
                        "texts": _beyond(known.summary, known.texts, source.seen),
                        "read": known.read or source.read,
                        "aliases": _without_repeats((*known.aliases, *others)),
                    }
                )
                for alias in others:
                    self.first_ids[alias] = known_id

    def get(self, source_id: str) -> Source | None:
        """The source of an id or alias; None when nothing has it."""
        return self.sources.get(self.first_ids.get(source_id, source_id))

    def named_with(self, prefix: str) -> int:
        """The highest number that an id with this prefix has, 0 without any."""
        ids = (known.rpartition("-") for source in self.sources.values() for known in source.known_ids)
        return max((int(number) for named, _, number in ids if named == prefix), default=0)

    def behind(self, prefixes: Collection[str], claims: Iterable[Claim]) -> "SourceRegister":
        """The sources that those with these prefixes saw or claim on, by the ids they have, none of them cited yet."""
        kept = SourceRegister(prefix=self.prefix)
        claimed = {source.id for source in self.named_in(claims)}
        for source in self.sources.values():
            if source.id in claimed or any(known.rpartition("-")[0] in prefixes for known in source.known_ids):
                kept._keep(normalised_address(source.url), source.model_copy(update={"number": None}))
                kept.first_ids |= dict.fromkeys(source.aliases, source.id)
        return kept

    def named_in(self, claims: Iterable[Claim]) -> tuple[Source, ...]:
        """The sources that claims rest on, each once."""
        named = (self.get(claim.source_id) for claim in claims)
        return tuple({source.id: source for source in named if source is not None}.values())

    def all(self) -> tuple[Source, ...]:
        """Every source: the background's first, then step by step.

        Not in order of registration: steps side by side end in any order, and the report must not depend on it.
        """
        return tuple(sorted(self.sources.values(), key=_place))

    def without_texts(self) -> tuple[Source, ...]:
        """Every source with its ids, address and title only: what a citation needs."""
        return tuple(source.model_copy(update={"summary": "", "texts": ()}) for source in self.sources.values())

    def _keep(self, address: str, source: Source) -> Source:
        self.sources[source.id] = source
        self.ids_by_address[address] = source.id
        for alias in source.aliases:
            self.first_ids[alias] = source.id
        return source

    def _widen(self, source_id: str, found: FoundSource) -> Source:
        known = self.sources[source_id]
        widened = known.model_copy(
            update={
                "texts": _beyond(known.summary, known.texts, (found.text or found.summary,)),
                "read": known.read or found.read,
                "summary": known.summary or found.summary,
            }
        )
        self.sources[source_id] = widened
        return widened


def _place(source: Source) -> tuple[int, int]:
    """Step (0 is the background) and place of the earliest id that a source is known by."""
    named = (known.partition("-") for known in source.known_ids)
    return min((int(prefix[1:] or 0), int(place)) for prefix, _, place in named)


def shown_source(brief: SourceBrief) -> Source:
    """A source as far as a role was shown it."""
    return Source(id=brief.id, url=brief.url, title=brief.title, texts=(brief.text,))


def _beyond(summary: str, *seen: Iterable[StoredText]) -> tuple[StoredText, ...]:
    """The texts that say more than the summary, which is kept beside them, each once."""
    texts = _without_repeats(text for some in seen for text in some)
    return tuple(text for text in texts if text and text != summary)


def _without_repeats(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))


def check_quote(quote: str, texts: Sequence[str]) -> Check:
    """Whether a quote stands in one of the `folded` texts of its source, white space and typography aside.

    Parts joined by an ellipsis must each stand there, in one text and in order.
    """
    parts = [part for part in (folded(part) for part in re.split(r"\.{3}|…", quote)) if part]
    if sum(map(len, parts)) < _MIN_QUOTE_CHARS:
        return Check.UNVERIFIED
    return Check.VERIFIED if any(_holds(text, parts) for text in texts) else Check.UNVERIFIED


def _holds(text: str, parts: Sequence[str]) -> bool:
    position = 0
    for part in parts:
        found = text.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return True


def folded(text: str) -> str:
    """A text without what does not count in a quote: case, kinds of quotes and dashes, runs of white space."""
    plain = unicodedata.normalize("NFKC", text).translate(_TYPOGRAPHY).casefold()
    return " ".join(plain.split()).strip("\"' ")


def by_any_id(sources: Iterable[Source]) -> Mapping[str, Source]:
    """Sources by their ids and all their aliases."""
    return {known: source for source in sources for known in source.known_ids}


# Every repetition is bounded: a report is what a model wrote, and a pattern that tries all ways through a long line
# would hold the interpreter, and with it the worker, for minutes.
_CODE = re.compile(r"(```.*?```|~~~.*?~~~|`[^`\n]{1,500}`)", re.DOTALL)
_FENCE_LINE = re.compile(r"^[ \t]{0,3}(?:```|~~~)[^\n]*\n?", re.MULTILINE)
# an address may hold one pair of parentheses, as many of an encyclopaedia do
_TARGET = r"\(\s{0,5}<?((?:[^()\s<>]|\([^()\s]{0,200}\)){0,4000})>?(?:\s[^)\n]{0,500})?\)"
_IMAGE = re.compile(r"!\[([^\]\n]{0,500})\]" + _TARGET)
_LINK = re.compile(r"\[((?:[^\[\]\n]|\[[^\[\]\n]{0,100}\]){0,500})\]" + _TARGET)
_BARE_ADDRESS = re.compile(
    r"<?\b(?:(?:https?|doc)://|www\.)(?:[^\s<>()\[\]\"'，。；、（）】」]|\([^\s<>()]{0,200}\)){1,4000}>?", re.IGNORECASE
)
_ID = r"(?:s\d{1,4}|b)-\d{1,5}"
_MARKERS = re.compile(rf"[\[【]\s{{0,5}}({_ID}(?:\s{{0,5}}[,;、，]\s{{0,5}}{_ID}){{0,50}})\s{{0,5}}[\]】]")
_NUMBERS = re.compile(
    r"[ \t]?(?:\[\s{0,5}\^?\d{1,3}(?:\s{0,5}[,;、，–-]\s{0,5}\d{1,3}){0,50}\s{0,5}\]"
    r"|【\s{0,5}\d{1,3}[^】\n]{0,20}】)(?![(:])"
)
_FOOTNOTES = re.compile(r"[ \t]?\[\^[^\]\n]{1,100}\]:?")
_DEFINITIONS = re.compile(
    r"^[ \t>*+-]{0,10}\[[^\]\n]{1,200}\]:[ \t]{0,5}\n?[ \t]{0,5}"
    r"(?:<?(?:[A-Za-z][A-Za-z0-9+.-]{0,20}:[^\s\[]|//)[^\n]*|[^\s\[]{1,4000}(?:[ \t]{1,5}[\"'(][^\n]*)?[ \t]{0,5}$)\n?",
    re.MULTILINE,
)
# What Markdown could still read as a link: words before an address of a form that is not known here.
_LEFT_OVER = re.compile(r"\](?=\()")
_LABELLED = re.compile(r"\[([^\[\]\n]{1,200})\]\[([^\[\]\n]{0,100})\]")
_ONLY_NUMBERS = re.compile(r"[\d,;–^ -]+")
_TOKEN = re.compile("\ue000([^\ue000\ue001]*)\ue001")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,2000}>|<!--.{0,2000}?-->", re.DOTALL)
_REFERENCES = re.compile(
    r"^#{1,6}\s*(?:\d+[.)]?\s*)?(?:key citations|references|reference list|sources|citations|works cited|bibliography"
    r"|参考来源|参考文献|参考资料|引用来源|来源|引用)\s*[:：]?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_REFERENCE_LINE = re.compile(r"[-*+•]\s|\d{1,3}[.)]\s|[\[【<]|https?://|doc://")
_OUTER_FENCE = re.compile(r"\A\s*(`{3,})(?:markdown|md)?[ \t]*\n(.*)\n\1\s*\Z", re.DOTALL | re.IGNORECASE)


class CitedText(BaseModel):
    """A report whose markers are numbers. `numbers`: source id to number, in order of first use."""

    text: str
    numbers: dict[str, int]
    removed_markers: int
    removed_links: int


def renumber(text: str, sources: Iterable[Source]) -> CitedText:
    """Turn every citation of a registered source into `[n]`, and take out what cites anything else.

    A citation is a marker `[s2-4]`, `[b-1, s2-4]`, or a link to the address of a source, whose words stay.
    Numbers in brackets that the writer made up, images and addresses never seen, HTML tags and a list of
    references of the writer's own are removed; code is left alone.
    """
    return _Renumbering(sources).apply(_without_references(_without_fence(text)))


def _without_fence(text: str) -> str:
    """A report out of the fence around it, and without a fence that nothing closes: that would swallow the rest."""
    fenced = _OUTER_FENCE.match(text)
    inner = fenced.group(2) if fenced else text.strip()
    lines = list(_FENCE_LINE.finditer(inner))
    return inner if len(lines) % 2 == 0 else inner[: lines[-1].start()] + inner[lines[-1].end() :]


def _without_references(text: str) -> str:
    """Drop the last section when it is a list of references: code appends the true one."""
    headings = list(_REFERENCES.finditer(text))
    if not headings:
        return text
    lines = [line.strip() for line in text[headings[-1].end() :].splitlines() if line.strip()]
    return text[: headings[-1].start()].rstrip() if all(map(_REFERENCE_LINE.match, lines)) else text


class _Renumbering:
    """One pass over a report; numbers are given as citations are met."""

    def __init__(self, sources: Iterable[Source]) -> None:
        known = tuple(sources)
        self._by_id = by_any_id(known)
        self._by_address = {normalised_address(source.url): source for source in known}
        self._numbers: dict[str, int] = {}
        self._removed_markers = 0
        self._removed_links = 0

    def apply(self, text: str) -> CitedText:
        parts = _CODE.split(text.replace("\ue000", "").replace("\ue001", ""))
        done = "".join(part if at % 2 else self._prose(part) for at, part in enumerate(parts))
        return CitedText(
            text=re.sub(r"[ \t]+([.,;:!?])(?=\s|$)", r"\1", done).strip(),
            numbers=self._numbers,
            removed_markers=self._removed_markers,
            removed_links=self._removed_links,
        )

    def _prose(self, text: str) -> str:
        """Citations of known sources first become tokens, so that whatever still looks like one is none."""
        text = _MARKERS.sub(self._marker, text)
        text = _DEFINITIONS.sub(self._definition, text)
        text = _LABELLED.sub(self._labelled, text)
        text = _FOOTNOTES.sub(self._made_up, text)
        text = _NUMBERS.sub(self._made_up, text)
        text = _TAG.sub(lambda tag: tag.group() if _BARE_ADDRESS.fullmatch(tag.group()) else "", text)
        text = _IMAGE.sub(self._image, text)
        text = _LINK.sub(self._link, text)
        text = _BARE_ADDRESS.sub(self._bare_address, text)
        text = _LEFT_OVER.sub("] ", text)
        return _NUMBER_RUN.sub(_merged_numbers, _TOKEN.sub(self._number, text))

    def _number(self, token: re.Match[str]) -> str:
        return f"[{self._numbers.setdefault(token.group(1), len(self._numbers) + 1)}]"

    def _made_up(self, _: re.Match[str]) -> str:
        self._removed_markers += 1
        return ""

    def _labelled(self, link: re.Match[str]) -> str:
        if _ONLY_NUMBERS.fullmatch(link.group(1)):
            return link.group()  # two numbers side by side, which are taken out as numbers
        self._removed_markers += 1
        return link.group(1)

    def _definition(self, _: re.Match[str]) -> str:
        self._removed_links += 1
        return ""

    def _image(self, image: re.Match[str]) -> str:
        self._removed_links += 1
        return image.group(1)

    def _link(self, link: re.Match[str]) -> str:
        words, url = link.group(1), link.group(2)
        source = self._by_address.get(normalised_address(url))
        if source is None:
            self._removed_links += 1
            return words
        return f"{words} {_token(source)}".strip()

    def _bare_address(self, address: re.Match[str]) -> str:
        url = address.group().strip("<>")
        tail = url[len(url.rstrip(".,;:!?")) :]
        source = self._by_address.get(normalised_address(url.rstrip(".,;:!?")))
        if source is None:
            self._removed_links += 1
            return tail
        return _token(source) + tail

    def _marker(self, marker: re.Match[str]) -> str:
        found = []
        for source_id in re.split(r"\s*[,;、，]\s*", marker.group(1)):
            if (source := self._by_id.get(source_id)) is None:
                self._removed_markers += 1
            else:
                found.append(_token(source))
        return "".join(dict.fromkeys(found))


def _token(source: Source) -> str:
    return f"\ue000{source.id}\ue001"


_NUMBER_RUN = re.compile(r"\[\d+\](?:\s*\[\d+\])+")


def _merged_numbers(run: re.Match[str]) -> str:
    """`[1] [1][2]` becomes `[1][2]`."""
    return "".join(dict.fromkeys(re.findall(r"\[\d+\]", run.group())))
