"""Numbers in what people and programs write, which pydantic would also take from true and false."""

from typing import Annotated

from pydantic import BeforeValidator


def not_a_boolean(value: object) -> object:
    """The value unless it is a boolean, which would count as 0 or 1. Raises ValueError, for pydantic."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


WholeNumber = Annotated[int, BeforeValidator(not_a_boolean)]
Number = Annotated[float, BeforeValidator(not_a_boolean)]
