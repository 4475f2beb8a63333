"""The ledger of a budget and a step's side of it, without a server."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from deer import flow
from deer.errors import InvalidInput, Refused
from deer.flow import Allowance, RunState
from deer.flow.ledger import Ledger, amount, for_research
from deer.messages import Command, Control, ControlAction, StepReport, parse_command
from deer.models import (
    Budget,
    DraftStep,
    Kind,
    Lease,
    Phase,
    PlanDraft,
    ResearchRequest,
    Role,
    StepOutcome,
    StepStatus,
    StepType,
    Usage,
)

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
CALL = Usage(input_tokens=100, output_tokens=20, cost_usd=0.00045, model_calls=1)


class Worker:
    """A step as the ledger meets it: it spends a call at a time within its lease, and asks when that is spent."""

    def __init__(self, ledger: Ledger, step_id: str) -> None:
        self.ledger, self.step_id = ledger, step_id
        self.usage = Usage()
        self.allowance = Allowance(ledger.lease_of(step_id))
        self.asked = 0

    @property
    def waits(self) -> bool:
        return bool(self.allowance.wants)

    def spend(self, call: Usage, kinds: tuple[Kind, ...]) -> None:
        """Make a call if it may; else wait for more."""
        if lacking := self.allowance.lacking(self.usage, kinds):
            if self.allowance.refusal(lacking) is None and self.allowance.ask(lacking):
                self.asked += 1
                self.ledger.ask(self.step_id, self.usage, self.allowance.wants)
            return
        self.usage += call


def settle(ledger: Ledger, spent: Usage, workers: list[Worker]) -> None:
    """Let the ledger answer, and its answers arrive."""
    for step_id, lease in ledger.settle(spent, lambda kind: f"no {kind}").items():
        next(worker for worker in workers if worker.step_id == step_id).allowance.take(lease)


@settings(max_examples=60, deadline=None)
@given(
    tokens=st.integers(1, 40_000),
    usd=st.floats(0.0001, 0.2),
    at_work=st.integers(1, 8),
    moves=st.lists(st.tuples(st.integers(0, 7), st.integers(1, 900), st.booleans()), max_size=200),
)
def test_grants_never_exceed_what_is_left_and_all_returns(
    tokens: int, usd: float, at_work: int, moves: list[tuple[int, int, bool]]
) -> None:
    """Whatever steps spend, ask and return: what they hold is within the limits but for one call each, none is lost."""
    ledger, spent = Ledger(budget=Budget(tokens=tokens, usd=usd)), Usage()
    kinds = (Kind.TOKENS, Kind.USD)
    for number in range(at_work):
        ledger.open(f"s{number}", spent, at_work)
    workers = [Worker(ledger, f"s{number}") for number in range(at_work)]
    largest = dict.fromkeys(kinds, 0.0)
    for which, size, ends in moves:
        if not workers:
            break
        worker = workers[which % len(workers)]
        call = Usage(input_tokens=size, cost_usd=size / 1e6, model_calls=1)
        largest = {kind: max(largest[kind], amount(call, kind)) for kind in kinds}
        if ends and not worker.waits:
            workers.remove(worker)
            spent = spent + worker.usage
            ledger.close(worker.step_id)
        elif not worker.waits:
            worker.spend(call, kinds)
        settle(ledger, spent, workers)
        for kind in kinds:
            total = amount(spent, kind) + sum(amount(worker.usage, kind) for worker in workers)
            limit = for_research(ledger.budget, kind)
            assert limit is not None
            assert total <= limit + at_work * largest[kind] + 1e-9
            granted = sum(lease.granted[kind] for lease in ledger.leases.values())
            assert granted + amount(spent, kind) <= limit + at_work * largest[kind] + 1e-9
        assert not workers or any(not worker.waits for worker in workers), "somebody can always go on"
    for worker in workers:
        spent = spent + worker.usage
        ledger.close(worker.step_id)
    left = ledger.left(Kind.TOKENS, spent)
    limit = for_research(ledger.budget, Kind.TOKENS)
    assert limit is not None
    assert left == limit - amount(spent, Kind.TOKENS)


@pytest.mark.parametrize(("tokens", "at_work"), [(50_000, 4), (300_000, 4), (300_000, 30)])
def test_steps_ask_a_few_times_however_many_calls_they_make(tokens: int, at_work: int) -> None:
    """The number of leases grows with the number of steps, hardly with the budget; at most fifty beyond the first."""
    ledger, spent = Ledger(budget=Budget(tokens=tokens)), Usage()
    for number in range(at_work):
        ledger.open(f"s{number}", spent, at_work)
    workers = [Worker(ledger, f"s{number}") for number in range(at_work)]
    assert all(lease.granted[Kind.TOKENS] > 0 for lease in ledger.leases.values())
    while any(worker.allowance.refusal((Kind.TOKENS,)) is None for worker in workers):
        for worker in workers:
            if not worker.waits:
                worker.spend(CALL, (Kind.TOKENS,))
        settle(ledger, spent, workers)
    used = sum(amount(worker.usage, Kind.TOKENS) for worker in workers)
    assert tokens * 0.85 <= used < tokens * 0.85 + at_work * 120
    assert sum(worker.asked for worker in workers) <= 50 + at_work


@pytest.mark.parametrize(
    ("before", "limit"), [((9_000, 0, 0), 12_000), ((0, 5_000, 5_000), 9_000), ((50, 20, 0), 4_000)]
)
def test_a_new_limit_counts_what_was_spent_before_it(before: tuple[int, ...], limit: int) -> None:
    """Steps at work account for what they spent without a limit before one has a share; they pass it by a call each."""
    ledger, spent = Ledger(), Usage(input_tokens=100)
    for number in range(len(before)):
        ledger.open(f"s{number}", spent, len(before))
    workers = [Worker(ledger, f"s{number}") for number in range(len(before))]
    for worker, tokens in zip(workers, before, strict=True):
        worker.usage = Usage(input_tokens=tokens)
    for step_id, lease in ledger.change(Budget(tokens=limit), spent).items():
        worker = next(worker for worker in workers if worker.step_id == step_id)
        assert worker.allowance.take(lease)
        assert not ledger.has_left(Kind.TOKENS, spent)
        ledger.ask(step_id, worker.usage, worker.allowance.wants)
    settle(ledger, spent, workers)
    while any(worker.allowance.refusal((Kind.TOKENS,)) is None for worker in workers):
        for worker in workers:
            if not worker.waits:
                worker.spend(CALL, (Kind.TOKENS,))
        settle(ledger, spent, workers)
    used = amount(spent, Kind.TOKENS) + sum(amount(worker.usage, Kind.TOKENS) for worker in workers)
    for_steps = for_research(ledger.budget, Kind.TOKENS)
    assert for_steps is not None
    assert used <= max(sum(before) + 100, for_steps) + len(before) * 120


def test_nobody_is_denied_what_another_step_may_return() -> None:
    """The one who asks waits while another is at work, and is answered by what that returns; alone it is denied."""
    ledger = Ledger(budget=Budget(searches=2))
    for step_id in ("s1", "s2"):
        ledger.open(step_id, Usage(), 2)
    first = Worker(ledger, "s1")
    search = Usage(searches=1)
    for _ in range(2):
        first.spend(search, (Kind.SEARCHES,))
    settle(ledger, Usage(), [first])
    assert first.waits
    ledger.close("s2")
    settle(ledger, Usage(), [first])
    for _ in range(2):
        first.spend(search, (Kind.SEARCHES,))
    settle(ledger, Usage(), [first])
    assert first.allowance.refusal((Kind.SEARCHES,)) == "no searches"
    assert first.usage.searches == 2


def test_a_report_that_an_answer_overtook_asks_for_nothing() -> None:
    """A step that sends its wants again before the answer arrives is not given more twice."""
    ledger = Ledger(budget=Budget(pages=100))
    ledger.open("s1", Usage(), 1)
    known = ledger.leases["s1"].told[Kind.PAGES]
    ledger.ask("s1", Usage(pages=int(known)), {Kind.PAGES: known})
    assert ledger.settle(Usage(), str)
    granted = ledger.leases["s1"].granted[Kind.PAGES]
    ledger.ask("s1", Usage(pages=int(known)), {Kind.PAGES: known})
    assert ledger.settle(Usage(), str) == {}
    assert ledger.leases["s1"].granted[Kind.PAGES] == granted


def test_what_a_step_spent_beyond_its_lease_is_not_given_to_others() -> None:
    """A report that asks for nothing, such as that of a hold, counts too."""
    ledger = Ledger(budget=Budget(tokens=1_000))
    ledger.open("s1", Usage(), 1)
    ledger.ask("s1", Usage(input_tokens=700), {})
    assert ledger.left(Kind.TOKENS, Usage()) == 150
    assert ledger.settle(Usage(), str) == {}


def test_searches_in_flight_are_counted() -> None:
    """Calls of one turn cannot pass a limit together, and what one did not cost is there again."""
    allowance = Allowance(Lease(granted={Kind.SEARCHES: 1}))
    kinds = (Kind.SEARCHES,)
    assert allowance.lacking(Usage(), kinds) == ()
    allowance.begin(kinds)
    assert allowance.lacking(Usage(), kinds) == kinds
    assert allowance.spent(Usage()) == Usage(searches=1)
    allowance.end(kinds)
    assert allowance.lacking(Usage(), kinds) == ()
    assert Allowance(None).lacking(Usage(searches=99), kinds) == ()


def drafted(title: str, **fields: object) -> DraftStep:
    return DraftStep.model_validate(
        {"title": title, "description": title, "step_type": StepType.RESEARCH, "need_search": True, **fields}
    )


def researching(budget: Budget, *steps: DraftStep) -> RunState:
    """A run whose plan was approved."""
    state = RunState.begin("r1", ResearchRequest(question="How?", budget=budget, max_parallel_steps=2))
    state.propose(NOW, PlanDraft(title="T", steps=steps or (drafted("A"), drafted("B"), drafted("C"))), "planner")
    state.enter(Phase.RESEARCHING)
    flow.tell_time(state, NOW)
    return state


def test_a_step_waits_for_a_lease_and_starts_when_the_budget_is_raised() -> None:
    """Nothing is left and nothing is at work: waiting steps are left out, unless the budget was raised before."""
    state = researching(Budget(tokens=1_000))
    state.spend(Usage(input_tokens=850))
    assert flow.steps_to_start(state) == ()
    raised = state.model_copy(deep=True)
    control = Control(action=ControlAction.BUDGET, budget={"tokens": 5_000})
    assert flow.take_control(raised, NOW, control).tell == {}
    assert [step.id for step in flow.start_ready_steps(raised)] == ["s1", "s2"]
    flow.leave_out_unpayable(state, NOW)
    assert {step.status for step in state.steps.values()} == {StepStatus.SKIPPED}
    assert state.steps["s3"].reason == "the budget of 1,000 tokens is spent but for what the report needs"
    state.spend(Usage(input_tokens=500))
    assert flow.why_no_report(state) is None  # whatever the steps took, the reserve is the reporter's
    state.spend(Usage(input_tokens=150, model_calls=1), Role.REPORTER)
    assert flow.why_no_report(state) == "the budget of 1,000 tokens is spent"


def test_steps_that_others_leave_nothing_wait_for_what_they_return() -> None:
    """A step does not begin on an empty lease, and is not left out while one at work may return something."""
    state = researching(Budget(searches=1))
    assert [step.id for step in flow.start_ready_steps(state)] == ["s1"]
    flow.leave_out_unpayable(state, NOW)
    assert state.steps["s2"].status is StepStatus.PENDING
    assert flow.steps_to_start(state) == ()
    state.ledger.close("s1")
    assert [step.id for step in flow.steps_to_start(state)] == ["s2"]


def test_a_step_says_what_it_spent_in_its_reports() -> None:
    """What a step at work reported counts in the status, and an answer goes to it."""
    state = researching(Budget(tokens=10_000))
    flow.start_ready_steps(state)
    known = state.ledger.leases["s1"].told[Kind.TOKENS]
    usage = Usage(input_tokens=int(known) + 50)
    flow.take_step_report(
        state, NOW, StepReport(step_id="s1", held=None, number=1, usage=usage, wants={Kind.TOKENS: known})
    )
    assert flow.status_of(state).budget[Kind.TOKENS].used == usage.input_tokens
    answer = flow.settle_leases(state, NOW)
    assert answer["s1"].granted[Kind.TOKENS] > usage.input_tokens
    assert parse_command(answer["s1"].model_dump(mode="json")) == answer["s1"]


def test_the_clock_stands_while_the_run_waits() -> None:
    """Minutes count from one telling to the next, but for those in which a person was waited for."""
    state = researching(Budget(minutes=10))
    assert flow.time_left(state) == timedelta(minutes=8.5)
    flow.tell_time(state, NOW + timedelta(minutes=2))
    flow.take_control(state, NOW, Control(action=ControlAction.PAUSE))
    flow.tell_time(state, NOW + timedelta(minutes=3))
    assert flow.time_left(state) is None
    before = flow.time_watched(state)
    flow.take_control(state, NOW, Control(action=ControlAction.RESUME))
    flow.tell_time(state, NOW + timedelta(days=2))
    assert flow.time_watched(state) != before
    assert flow.time_left(state) == timedelta(minutes=5.5)
    flow.tell_time(state, NOW + timedelta(days=2, minutes=5))
    assert flow.status_of(state).budget[Kind.MINUTES].used == 8


def test_steps_at_work_are_ended_once_when_the_time_is_over() -> None:
    """Each is told once; with more time others may begin again."""
    state = researching(Budget(minutes=10))
    flow.start_ready_steps(state)
    assert flow.end_overdue_steps(state) == {}
    flow.tell_time(state, NOW + timedelta(minutes=8.5))
    assert flow.end_overdue_steps(state) == {"s1": Command.WIND_DOWN, "s2": Command.WIND_DOWN}
    assert flow.end_overdue_steps(state) == {}
    assert flow.time_left(state) is None
    flow.take_control(state, NOW, Control(action=ControlAction.BUDGET, budget={"minutes": 20}))
    assert flow.time_left(state) == timedelta(minutes=8.5)


def test_limits_are_set_lifted_and_lowered_while_steps_are_at_work() -> None:
    """A limit that is new or leaves nothing has steps account, a lifted one reaches them as no limit."""
    state = researching(Budget(searches=9))
    flow.start_ready_steps(state)

    def told(**limits: float | None) -> dict[str, Lease]:
        orders = flow.take_control(state, NOW, Control(action=ControlAction.BUDGET, budget=limits))
        return {step_id: lease for step_id, lease in orders.tell.items() if isinstance(lease, Lease)}

    new = told(tokens=8_000)
    assert [lease.granted[Kind.TOKENS] for lease in new.values()] == [0, 0]
    for step_id in new:
        state.ledger.ask(step_id, CALL, {Kind.TOKENS: 0})
    assert all(lease.granted[Kind.TOKENS] > 120 for lease in flow.settle_leases(state, NOW).values())
    assert told(pages=None) == {}
    assert [lease.granted[Kind.TOKENS] for lease in told(tokens=10).values()] == [120, 120]
    lifted = told(tokens=None)
    assert set(lifted) == {"s1", "s2"}
    assert all(Kind.TOKENS not in lease.granted for lease in lifted.values())
    with pytest.raises(InvalidInput, match="budget: tokens"):
        told(tokens=-1)
    with pytest.raises(InvalidInput, match="say which limits"):
        told()
    state.end(NOW, Phase.COMPLETED, None)
    with pytest.raises(Refused):
        told(tokens=1)


def test_a_step_is_not_tried_again_without_anything_to_pay_it_from() -> None:
    """The refusal names the limit; once that is raised the step is taken up, and counts its reports from 1."""
    state = researching(Budget(tokens=1_000))
    flow.start_ready_steps(state)
    flow.take_step_report(state, NOW, StepReport(step_id="s1", held=None, number=7, usage=Usage(input_tokens=850)))
    state.spend(Usage(input_tokens=850))
    for step_id in ("s1", "s2"):
        flow.end_step(state, NOW, step_id, StepOutcome(status=StepStatus.FAILED, reason="it broke off"))
    retry = Control(action=ControlAction.RETRY, step_id="s1")
    with pytest.raises(Refused, match=r"the budget of 1,000 tokens is spent .*; raise it first"):
        flow.take_control(state, NOW, retry)
    flow.take_control(state, NOW, Control(action=ControlAction.BUDGET, budget={"tokens": 9_000}))
    flow.take_control(state, NOW, retry)
    flow.start_ready_steps(state)
    flow.take_step_report(state, NOW, StepReport(step_id="s1", held="no quota", number=1))
    assert state.phase is Phase.NEEDS_ATTENTION


def test_a_fork_has_the_budget_of_its_request_whole() -> None:
    """What its parent spent is not taken from it."""
    state = researching(Budget(tokens=1_000))
    state.spend(Usage(input_tokens=850))
    fork = flow.forked(state, "s2", "r2", state.request, NOW)
    assert [step.id for step in flow.steps_to_start(fork)] == ["s1", "s2"]
    assert flow.status_of(fork).budget[Kind.TOKENS].used == 0


@pytest.mark.parametrize(
    "limits", [{"tokens": 0}, {"usd": 0}, {"minutes": -1}, {"pages": -1}, {"hours": 1}, {"tokens": True}]
)
def test_a_budget_that_makes_no_sense_is_refused(limits: dict[str, float]) -> None:
    """Limits are above zero, but for searches and pages, which may be none."""
    with pytest.raises(ValidationError):
        Budget.model_validate(limits)
    assert Budget(searches=0, pages=0).limit(Kind.SEARCHES) == 0
