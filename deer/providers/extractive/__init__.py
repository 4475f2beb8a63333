"""A stand-in for a language model that quotes instead of writing."""

from deer.providers.extractive.model import MODEL_NAME, ExtractiveModel

__all__ = ["MODEL_NAME", "ExtractiveModel"]
