"""The citations of a report: markers become numbers, and what cites nothing known goes."""

import re
from collections.abc import Iterable

from pydantic import BaseModel

from deer.evidence.addresses import normalised_address
from deer.evidence.register import by_any_id
from deer.models import Source

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
