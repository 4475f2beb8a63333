"""How much a model can be told, and what is said in fewer words so that a request fits."""

from deer.context.fitting import fitted
from deer.context.limits import DEFAULT_TOKEN_LIMIT, answer_room, known_token_limit
from deer.context.tokens import safe_tokens, tokens_of_request

__all__ = [
    "DEFAULT_TOKEN_LIMIT",
    "answer_room",
    "fitted",
    "known_token_limit",
    "safe_tokens",
    "tokens_of_request",
]
