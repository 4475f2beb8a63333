"""Collections of documents: registering a folder, searching its passages, reading a document."""

from deer.providers.documents.collection import (
    EXAMPLE_COLLECTION,
    Manifest,
    Registered,
    register_example,
    register_folder,
)
from deer.providers.documents.folder import MAX_DOCUMENT_BYTES, MAX_DOCUMENTS, MAX_TOTAL_BYTES, Skipped
from deer.providers.documents.search import StoredDocuments

__all__ = [
    "EXAMPLE_COLLECTION",
    "MAX_DOCUMENTS",
    "MAX_DOCUMENT_BYTES",
    "MAX_TOTAL_BYTES",
    "Manifest",
    "Registered",
    "Skipped",
    "StoredDocuments",
    "register_example",
    "register_folder",
]
