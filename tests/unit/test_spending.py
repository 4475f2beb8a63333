"""What a run spent, in words."""

import pytest

from deer import flow
from deer.flow import RunState
from deer.models import ResearchRequest, Role, Usage
from deer.wording import in_usd


def spent(locale: str, **by_role: Usage) -> str:
    """The appendix of a run whose roles spent this."""
    state = RunState.begin("r1", ResearchRequest(question="How well?", locale=locale))
    for role, usage in by_role.items():
        state.spend(usage, Role(role))
    return flow.spending_section(state)


def test_a_run_without_a_model_has_no_appendix() -> None:
    """Where no model was called nothing is said of models."""
    assert spent("en-US") == spent("en-US", researcher=Usage(searches=3)) == ""


def test_the_appendix_marks_what_is_estimated_and_what_has_no_price() -> None:
    """Estimated tokens and calls without a price are told with their number; a model's name stays one line of code."""
    planner = Usage(model_calls=2, input_tokens=1_500, output_tokens=20, cost_usd=0.000031, models=("big",))
    reporter = Usage(model_calls=1, input_tokens=700, unpriced_calls=1, estimated_calls=1, models=("a`b\n# c", "big"))
    assert spent("de-DE", planner=planner, reporter=reporter).splitlines() == [
        "## Appendix: models and cost",
        "",
        "- Models: `big` (planner, reporter), `a b # c` (reporter)",
        "- Tokens: 2,200 read and 20 written in 3 calls (estimated in 1 of them)",
        "- Cost: 0.000031 USD (no price is set for 1 of the calls)",
    ]
    assert "其中 1 次为估计值" in spent("zh-TW", planner=planner, reporter=reporter)
    assert "其中 1 次调用未设定价格" in spent("zh-TW", planner=planner, reporter=reporter)


@pytest.mark.parametrize(
    ("cost", "shown"),
    [(0.0, "0.0000"), (12.5, "12.5000"), (0.0012, "0.0012"), (0.00045, "0.00045"), (3.14159e-7, "0.00000031")],
)
def test_small_sums_keep_two_digits(cost: float, shown: str) -> None:
    """A cost is never shown as nothing unless it is nothing."""
    assert in_usd(cost) == shown
