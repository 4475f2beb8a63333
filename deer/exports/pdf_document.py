"""A report as a PDF, set by Typst from `report.typ`, to which the report is data and never program."""

import base64
import json
from binascii import Error as NoBase64
from functools import cache
from pathlib import Path
from typing import Any

import manimgx_fonts_cjk
import typst
from markdown_it.tree import SyntaxTreeNode

from deer.exports.content import ReportContent
from deer.exports.directions import begins_right_to_left, is_right_to_left
from deer.exports.safe_markdown import IMAGE_DATA, safe_tree, text_of

Node = dict[str, Any]
"""A part of the report as `report.typ` reads it: its `type`, and what that type has."""

_CJK_FONTS = {"ja": "Noto Sans CJK JP", "ko": "Noto Sans CJK KR", "zh": "Noto Sans CJK SC"}
_TRADITIONAL = ("zh-tw", "zh-hk", "zh-hant")
_BLOCKS = {"blockquote": "quote", "bullet_list": "bullets", "ordered_list": "numbers"}
_MARKS = ("strong", "em", "s")


def pdf_document(content: ReportContent) -> bytes:
    """The report as a PDF file. Citations lead to the list of references, which has each address in words."""
    reader = _Reader(content)
    language = content.locale.partition("-")[0].lower()
    is_traditional = content.locale.lower().startswith(_TRADITIONAL)
    cjk = "Noto Sans CJK TC" if is_traditional else _CJK_FONTS.get(language, _CJK_FONTS["zh"])
    report = {
        "title": content.title,
        "about": " · ".join(part for part in (content.run_id, content.finished_on) if part),
        "language": language,
        "turned": is_right_to_left(content.markdown),
        "fonts": ["Libertinus Serif", cjk],
        "code-fonts": ["DejaVu Sans Mono", cjk],
        "blocks": reader.blocks(safe_tree(content).children),
    }
    return _compiled(_template(), report)


@cache
def _template() -> bytes:
    return Path(__file__).with_name("report.typ").read_bytes()


@cache
def _fonts() -> typst.Fonts:
    return typst.Fonts(font_paths=[Path(manimgx_fonts_cjk.__file__).parent])


def _compiled(program: bytes, report: Node) -> bytes:
    """What a program of ours makes of data; it reads no file."""
    made = typst.compile(program, font_paths=_fonts(), sys_inputs={"report": json.dumps(report)})
    if not isinstance(made, bytes):
        raise TypeError("one PDF was asked for")
    return made


class _Reader:
    """Turns the tree of a report into what the template reads."""

    def __init__(self, content: ReportContent) -> None:
        self._content = content

    def blocks(self, nodes: list[SyntaxTreeNode]) -> list[Node]:
        """Blocks in their order; an entry of the list of references begins with its anchor."""
        found = []
        for node in nodes:
            if node.type == "hr":
                found.append({"type": "rule"})
            elif node.type in ("fence", "code_block"):
                found.append({"type": "code", "text": node.content.rstrip("\n")})
            elif node.type == "reference":
                found.append({"type": "address", "text": self._content.references[node.meta["number"]].url})
            else:
                found.append(self._block(node))
        return found

    def _block(self, node: SyntaxTreeNode) -> Node:
        is_reference = node.attrs.get("class") == "references" or _is_of_references(node)
        # titles in the list of references lie as the page does, beside their numbers
        turned = None if is_reference else begins_right_to_left(text_of(node))
        if node.type == "heading":
            return {"type": "heading", "level": int(node.tag[1:]), "turned": turned, "children": self._line(node)}
        if node.type == "paragraph":
            return {"type": "paragraph", "turned": turned, "children": self._line(node)}
        if node.type == "table":
            rows = [row for part in node.children for row in part.children]
            return {
                "type": "table",
                "children": [{"children": [self._cell(cell) for cell in row.children]} for row in rows],
            }
        if node.type == "list_item":
            anchor = str(node.attrs.get("id", ""))
            begin: list[Node] = [{"type": "anchor", "anchor": anchor}] if anchor else []
            return {"type": "item", "children": begin + self.blocks(node.children)}
        return {
            "type": _BLOCKS[node.type],
            "turned": turned,
            "start": int(node.attrs.get("start", 1)),
            "children": self.blocks(node.children),
        }

    def _cell(self, node: SyntaxTreeNode) -> Node:
        side = str(node.attrs.get("style", "")).rpartition(":")[2] or "start"
        turned = begins_right_to_left(text_of(node)) if side == "start" else None
        return {"side": side, "turned": turned, "children": self._line(node)}

    def _line(self, node: SyntaxTreeNode) -> list[Node]:
        return [part for child in node.children for part in self._inline(child)]

    def _inline(self, node: SyntaxTreeNode) -> list[Node]:
        if node.type == "inline":
            return self._line(node)
        if node.type == "citation":
            number = node.meta["number"]
            return [{"type": "citation", "text": node.content, "anchor": f"ref-{number}"}]
        if node.type == "image":
            return [_image(node)]
        if node.type == "link":
            return [{"type": "link", "address": str(node.attrs["href"]), "children": self._line(node)}]
        if node.type in _MARKS:
            return [{"type": node.type, "children": self._line(node)}]
        if node.type == "hardbreak":
            return [{"type": "break"}]
        if node.type == "softbreak":
            return [_text(" ")]
        return [{"type": "code", "text": node.content} if node.type == "code_inline" else _text(node.content)]


def _is_of_references(node: SyntaxTreeNode) -> bool:
    entry = node.parent
    return entry is not None and entry.type == "list_item" and str(entry.attrs.get("id", "")).startswith("ref-")


def _text(text: str) -> Node:
    return {"type": "text", "text": text}


def _image(node: SyntaxTreeNode) -> Node:
    """A picture that Typst can show, else its words."""
    words = text_of(node)
    data = IMAGE_DATA.fullmatch(str(node.attrs["src"]))
    try:
        picture = list(base64.b64decode(data[2] if data else ""))
        _compiled(b"#image(bytes(json(bytes(sys.inputs.report)).data))", {"data": picture})
    except (NoBase64, typst.TypstError):
        return _text(words)
    return {"type": "image", "data": picture, "text": words}
