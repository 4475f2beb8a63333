"""Articles of a test as a folder, and one question put to it."""

from pathlib import Path

from deer.providers.documents import StoredDocuments, register_folder
from tests.unit.offline.roles import MemoryStore, MiniatureFlow, Research


async def flow_over(folder: Path, articles: dict[str, str]) -> MiniatureFlow:
    """The flow over articles that are given by file name; a name without an ending is Markdown."""
    _write(folder, articles)
    store = MemoryStore()
    registered = await register_folder(store, folder)
    return MiniatureFlow(StoredDocuments(store), [registered.collection])


async def ask(folder: Path, question: str, **articles: str) -> Research:
    """What one question to the articles led to."""
    return await (await flow_over(folder, articles)).run(question)


def _write(folder: Path, articles: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in articles.items():
        (folder / (name if "." in name else f"{name}.md")).write_text(text, encoding="utf-8")
