"""Settings: where they are written, what they may be, and what follows from them."""

from deer.config.endpoints import ModelSettings, ModelTier, PageApi, TemporalSettings
from deer.config.loading import load_settings
from deer.config.searches import SearchApi, SearchOptions
from deer.config.settings import Deployment, Services, Settings

__all__ = [
    "Deployment",
    "ModelSettings",
    "ModelTier",
    "PageApi",
    "SearchApi",
    "SearchOptions",
    "Services",
    "Settings",
    "TemporalSettings",
    "load_settings",
]
