"""What a run spent on models, in words for the readers of its report."""

from deer.flow.state import RunState
from deer.models import Usage
from deer.wording import in_usd, word

MAX_MODEL_NAME_CHARS = 100


def spending_section(state: RunState) -> str:
    """The appendix of the report: models called, tokens and cost; empty for a run that called no model.

    Markdown in the language of the run, with a heading of its own.
    """
    if not state.usage.model_calls:
        return ""
    locale = state.locale
    lines = [word("models_called", locale, models=_models_with_roles(state)), _tokens(state.usage, locale)]
    lines.append(_cost(state.usage, locale))
    return "\n".join([f"## {word('spending', locale)}", "", *(f"- {line}" for line in lines), ""])


def _models_with_roles(state: RunState) -> str:
    """Each model with the roles that it answered, in the order in which they first asked one."""
    roles_of: dict[str, list[str]] = {}
    for role, usage in state.spent_by.items():
        for model in usage.models:
            roles_of.setdefault(model, []).append(word(f"role_{role}", state.locale))
    return word("listed", state.locale).join(
        word("model_with_roles", state.locale, model=_as_code(model), roles=word("listed", state.locale).join(roles))
        for model, roles in roles_of.items()
    )


def _as_code(name: str) -> str:
    """A name that an endpoint gave, as code, which Markdown does not act on."""
    return f"`{' '.join(name.replace('`', ' ').split())[:MAX_MODEL_NAME_CHARS]}`"


def _tokens(usage: Usage, locale: str) -> str:
    counted = word(
        "tokens_spent",
        locale,
        input_tokens=f"{usage.input_tokens:,}",
        output_tokens=f"{usage.output_tokens:,}",
        calls=usage.model_calls,
    )
    return counted + (word("tokens_estimated", locale, calls=usage.estimated_calls) if usage.estimated_calls else "")


def _cost(usage: Usage, locale: str) -> str:
    if usage.unpriced_calls == usage.model_calls:
        return word("no_price", locale)
    cost = word("cost", locale, cost=in_usd(usage.cost_usd))
    return cost + (word("cost_in_part", locale, calls=usage.unpriced_calls) if usage.unpriced_calls else "")
