"""Plans and calls as models write them."""

from typing import Any

from deer.models import PlanRules, RawToolCall

RULES = PlanRules(max_steps=5)
SHOWN = PlanRules(max_steps=5, known_ids=("s1", "s2", "s3"), finished_ids=("s1",))
LAST = PlanRules(max_steps=5, excess_is_cut=True)


def step(title: str = "Costs", **fields: Any) -> dict[str, Any]:
    """A step of a plan."""
    return {"title": title, "description": f"About {title}", "step_type": "research", **fields}


def plan(*steps: Any, **fields: Any) -> dict[str, Any]:
    """A plan."""
    return {"title": "T", "thought": "t", "steps": list(steps), **fields}


def call(name: str, arguments: str) -> RawToolCall:
    """A tool call."""
    return RawToolCall(id="c1", name=name, arguments=arguments)
