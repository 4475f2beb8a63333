"""The roles of a run."""

from enum import StrEnum


class Role(StrEnum):
    """Who speaks with a model."""

    COORDINATOR = "coordinator"
    PLANNER = "planner"
    RESEARCHER = "researcher"
    ANALYST = "analyst"
    CODER = "coder"
    JUDGE = "judge"
    REPORTER = "reporter"
