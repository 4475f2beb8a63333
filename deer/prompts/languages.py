"""From a locale to the language of the prompts and to the name of the language that a role writes in."""

from enum import StrEnum


class PromptLanguage(StrEnum):
    """The languages in which prompts exist; the values are in the names of the template files."""

    ENGLISH = "en"
    CHINESE = "zh"


_NAMES = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "ms": "Malay",
    "nb": "Norwegian",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sr": "Serbian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
}
_TRADITIONAL = frozenset({"Hant", "TW", "HK", "MO"})


def prompt_language(locale: str) -> PromptLanguage:
    """Chinese for `zh` and all its variants, English for every other tag."""
    return PromptLanguage.CHINESE if locale.split("-")[0] == "zh" else PromptLanguage.ENGLISH


def language_name(locale: str) -> str:
    """How a prompt names the language with its tag, such as `German (de-DE)` or `简体中文（zh-CN）`.

    A language without a name here is named by its tag alone, which models know too.
    """
    primary, *subtags = locale.split("-")
    if primary == "zh":
        is_traditional = "Hans" not in subtags and not _TRADITIONAL.isdisjoint(subtags)
        return f"{'繁體中文' if is_traditional else '简体中文'}（{locale}）"
    name = _NAMES.get(primary)
    return f"{name} ({locale})" if name else f"the language {locale}"
