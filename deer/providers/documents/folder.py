"""Reading the documents of a folder: which files count, and the text of each."""

import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from deer.errors import InvalidInput
from deer.models import Model

MAX_DOCUMENTS = 5_000
MAX_DOCUMENT_BYTES = 2_000_000
MAX_PACKED_BYTES = 20_000_000
"""PDF and Word documents are mostly pictures and fonts: their text is a small part of them."""
MAX_TOTAL_BYTES = 200_000_000
MAX_FILES_LOOKED_AT = 50_000

READ_TYPES = (".csv", ".docx", ".htm", ".html", ".markdown", ".md", ".pdf", ".txt")
_PACKED_TYPES = (".docx", ".pdf")
_HTML_TYPES = (".htm", ".html")
_PDF_SECONDS = 60.0
"""How long the pages of one PDF may take; what was read by then is the document."""
_TITLE_CHARS = 150
_FIRST_HEADING = re.compile(r"^#\s+(?P<title>\S.*?)\s*#*\s*$", re.MULTILINE)
_CSV_NAME = re.compile(r"[_\s]+")
# Controls and marks that reorder text can hide what a sentence says; none of them carries meaning in a document.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


class Document(Model):
    """A document as it will be stored. `path` is relative to the folder, with slashes."""

    path: str
    title: str
    text: str


class Skipped(Model):
    """A file or folder that is not part of the collection, and why."""

    path: str
    reason: str


class FolderContents(Model):
    """What reading a folder gave, documents in the order of their paths."""

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...]


def read_folder(folder: Path) -> FolderContents:
    """Read every document below a folder; blocking. Raises InvalidInput when it is no folder or holds no document."""
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a folder; name a folder of {_types()} files", "documents")
    root = folder.resolve()
    documents: list[Document] = []
    skipped: list[Skipped] = []
    total_bytes = 0
    for path in _candidates(root, skipped):
        name = path.relative_to(root).as_posix()
        if len(documents) >= MAX_DOCUMENTS:
            skipped.append(Skipped(path=name, reason=f"a collection holds {MAX_DOCUMENTS} documents at most"))
            continue
        document = _document(name, _read_file(path, root))
        if isinstance(document, Skipped):
            skipped.append(document)
            continue
        size = len(document.text.encode())
        if total_bytes + size > MAX_TOTAL_BYTES:
            skipped.append(Skipped(path=name, reason=f"a collection holds {MAX_TOTAL_BYTES} bytes of text at most"))
        else:
            total_bytes += size
            documents.append(document)
    if not documents:
        raise InvalidInput(_nothing_read(folder, skipped), "documents")
    return FolderContents(documents=tuple(documents), skipped=tuple(skipped))


def _candidates(root: Path, skipped: list[Skipped]) -> Iterator[Path]:
    """Files that may be documents, sorted by path; hidden ones are passed over in silence."""
    looked_at = 0
    for directory, folders, files in os.walk(root):
        for name in sorted(folders):
            if not name.startswith(".") and (Path(directory) / name).is_symlink():
                relative = (Path(directory) / name).relative_to(root).as_posix()
                skipped.append(Skipped(path=relative, reason="a link to a folder; links to folders are not followed"))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.startswith("."):
                continue
            looked_at += 1
            path = Path(directory) / name
            relative = path.relative_to(root).as_posix()
            if looked_at > MAX_FILES_LOOKED_AT:
                reason = f"only the first {MAX_FILES_LOOKED_AT} files of a folder are looked at; the rest is left out"
                skipped.append(Skipped(path=relative, reason=reason))
                return
            if path.suffix.lower() in READ_TYPES:
                yield path
            else:
                reason = f"type {path.suffix or 'without ending'} is not read; {_types()} are"
                skipped.append(Skipped(path=relative, reason=reason))


def _read_file(path: Path, root: Path) -> bytes | str:
    """The bytes of a document, or why they are not read."""
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(root):
            return "a link that leads out of the folder"
        status = real.stat()
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        is_packed = path.suffix.lower() in _PACKED_TYPES
        most_bytes = MAX_PACKED_BYTES if is_packed else MAX_DOCUMENT_BYTES
        if status.st_size > most_bytes:
            return f"larger than {most_bytes} bytes"
        content = real.read_bytes()
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, before Python 3.13
        return f"cannot be read: {getattr(error, 'strerror', None) or 'links in a circle'}"
    if not is_packed and b"\0" in content and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "not text"
    return content


def _document(path: str, read: bytes | str) -> Document | Skipped:
    """What was read of a file as a document, or why it is none."""
    if isinstance(read, str):
        return Skipped(path=path, reason=read)
    title = ""
    kind = Path(path).suffix.lower()
    if kind in (*_PACKED_TYPES, *_HTML_TYPES):
        found = _extracted(kind, read)
        if isinstance(found, str):
            return Skipped(path=path, reason=found)
        title, text = found
    else:
        text = _decoded(read)
    text = "\f".join(_CONTROLS.sub("", page.replace("\r\n", "\n").replace("\r", "\n")) for page in text.split("\f"))
    text = text.encode("utf-8", "replace").decode("utf-8")
    if not text.strip():
        return Skipped(path=path, reason="holds no text")
    return Document(path=path, title=_clean(title) or _title(path, text), text=text)


def _extracted(kind: str, content: bytes) -> tuple[str, str] | str:
    """Title and text as pages of the web are read, or why there is none."""
    # Imported late: it takes half a second, and few folders hold such files.
    from deer.providers.extraction.extracted import Unextractable
    from deer.providers.extraction.pdf import extract_pdf
    from deer.providers.extraction.web_page import extract_web_page
    from deer.providers.extraction.word_document import extract_word_document

    try:
        if kind in _HTML_TYPES:
            return "", extract_web_page(content, None)["text"]
        found = extract_pdf(content, _PDF_SECONDS) if kind == ".pdf" else extract_word_document(content)
    except Unextractable as error:
        return str(error)
    return found["title"], found["text"]


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        from deer.providers.extraction.decoding import decoded  # late for the same reason

        return decoded(content, None)


def _title(path: str, text: str) -> str:
    stem = Path(path).stem
    if path.lower().endswith(".csv"):
        return _CSV_NAME.sub(" ", stem)
    if match := _FIRST_HEADING.search(text):
        return _clean(match["title"])
    first, _, rest = text.lstrip().partition("\n")
    stands_alone = len(first) <= 100 and (not rest.strip() or rest.startswith("\n"))
    return _clean(first) if stands_alone and first.rstrip()[-1] not in ".。!?！？" else _CSV_NAME.sub(" ", stem)


def _clean(title: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", title).strip("*_` ").split())[:_TITLE_CHARS]


def _types() -> str:
    return ", ".join(READ_TYPES)


def _nothing_read(folder: Path, skipped: list[Skipped]) -> str:
    example = f" (for example {skipped[0].path}: {skipped[0].reason})" if skipped else ""
    return f"{folder} holds no document that can be read{example}; put {_types()} files into it"
