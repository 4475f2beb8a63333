"""Registering a folder as a collection in the TextStore, and finding it again.

A collection is the entry `collections/<name>`: the list of its documents, whose texts are stored under their hashes.
"""

import asyncio
import hashlib
import re
from pathlib import Path

from deer.errors import InvalidInput, NotFound
from deer.models import RUN_ID_PATTERN, Model
from deer.ports import TextStore
from deer.providers.documents.folder import Document, Skipped, read_folder

EXAMPLE_COLLECTION = "example"
"""The collection of the articles that come with the program."""

_EXAMPLE_FOLDER = Path(__file__).resolve().parents[3] / "examples" / "corpus"
_HASH_CHARS = 8
_PUT_AT_ONCE = 32
"""Stores wait for a disk or a network: some at once are faster, all at once would be too many."""


class ManifestEntry(Model):
    """A document of a collection: where its text is stored, and its length in characters."""

    path: str
    title: str
    sha256: str
    chars: int


class Manifest(Model):
    """A collection as the TextStore keeps it, documents in the order of their paths."""

    documents: tuple[ManifestEntry, ...]

    @property
    def sha256(self) -> str:
        """A hash that changes with any path, title or text."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


class Registered(Model):
    """What registering a folder did. `chars` counts the text of all documents."""

    collection: str
    documents: int
    chars: int
    skipped: tuple[Skipped, ...]


async def register_folder(store: TextStore, folder: Path, name: str | None = None) -> Registered:
    """Put the documents of a folder into the store, as a collection that requests can name.

    Without a name the collection is called after the folder and its content, so that the same folder gives the same
    collection. Registering a name again replaces its list of documents.
    Raises InvalidInput: not a folder, no document in it, a name that is not allowed. Raises ServiceError: the store.
    """
    if name is not None and not re.fullmatch(RUN_ID_PATTERN, name):
        raise InvalidInput(f"{name!r} is no collection name; use 1 to 64 letters, digits, '.', '_' or '-'", "documents")
    if name == EXAMPLE_COLLECTION:
        raise InvalidInput(f"{name!r} is the collection that comes with the program; take another name", "documents")
    return await _register(store, folder, name)


async def register_example(store: TextStore) -> Registered:
    """Register the example articles of the checkout as `EXAMPLE_COLLECTION`. Doing it again changes nothing.

    Raises NotFound when the program was installed without them.
    """
    if not _EXAMPLE_FOLDER.is_dir():
        raise NotFound(f"no example documents at {_EXAMPLE_FOLDER}; name a folder of your own with --documents")
    return await _register(store, _EXAMPLE_FOLDER, EXAMPLE_COLLECTION)


async def load_manifest(store: TextStore, collection: str) -> Manifest:
    """The list of documents of a collection. Raises NotFound."""
    entry = await store.read_entry(_entry_name(collection))
    if entry is None:
        raise NotFound(f"no collection {collection!r}; register its folder with --documents")
    return Manifest.model_validate_json(entry)


async def _register(store: TextStore, folder: Path, name: str | None) -> Registered:
    contents = await asyncio.to_thread(read_folder, folder)
    entries: list[ManifestEntry] = []
    for at in range(0, len(contents.documents), _PUT_AT_ONCE):
        batch = contents.documents[at : at + _PUT_AT_ONCE]
        entries.extend(await asyncio.gather(*(_stored(store, document) for document in batch)))
    manifest = Manifest(documents=tuple(entries))
    collection = name or _name_for(folder, manifest)
    entry = manifest.model_dump_json()
    if await store.read_entry(_entry_name(collection)) != entry:
        await store.write_entry(_entry_name(collection), entry)
    return Registered(
        collection=collection,
        documents=len(manifest.documents),
        chars=sum(document.chars for document in manifest.documents),
        skipped=contents.skipped,
    )


async def _stored(store: TextStore, document: Document) -> ManifestEntry:
    sha256 = await store.put(document.text)
    return ManifestEntry(path=document.path, title=document.title, sha256=sha256, chars=len(document.text))


def _name_for(folder: Path, manifest: Manifest) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name).strip("-.")[: 64 - _HASH_CHARS - 1]
    return f"{plain or 'documents'}-{manifest.sha256[:_HASH_CHARS]}"


def _entry_name(collection: str) -> str:
    return f"collections/{collection}"
