"""Where a run can be killed: the boundaries of its activities, named alike in every run of the same plan.

A boundary is named after its activity: `coordinate`, `s2 take_turn 3`, `s2 read_page 1`, `finish_report 1`.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from tests.running import Run, children_in, completed_activities
from tests.scripted import Call, Kind, analysis_step, plan_of, research_step, subject_of

RESEARCH_STEPS = 4
FOUR_STEPS_AND_A_COMPARISON = plan_of(
    *(research_step(f"subject-s{number}") for number in range(1, RESEARCH_STEPS + 1)), analysis_step()
)
"""Each research step is on a subject that is named after the id it will have."""
ANALYSIS = f"s{RESEARCH_STEPS + 1}"
ROLE_OF_RUN = {"coordinator": "coordinate 1", "planner": "write_plan 1", "reporter": "write_report 1"}


class Moment(StrEnum):
    """When, at a boundary, the worker is killed."""

    ARRIVED = "arrived"
    """A service has the call, and does not answer before the worker is dead."""
    ANSWERED = "answered"
    """The last byte of the answer was handed over; whether the worker still read and recorded it is chance."""
    RECORDED = "recorded"
    """Temporal has the result."""


@dataclass(frozen=True)
class CrashPoint:
    """A boundary and a moment of it."""

    boundary: str
    moment: Moment

    def __str__(self) -> str:
        return f"{self.boundary} {self.moment}"

    @property
    def service(self) -> Kind:
        """Which service is called at the boundary."""
        activity = self.boundary.split()[-2]
        return {"search_web": Kind.SEARCH, "read_page": Kind.PAGE}.get(activity, Kind.MODEL)


def boundary_of(call: Call) -> str:
    """The activity for which a call to a service is made."""
    if call.kind is Kind.PAGE:
        return f"{call.path.removeprefix('subject-').partition('-')[0]} read_page 1"
    if call.kind is Kind.SEARCH:
        _, named, step = str(call.body["query"]).partition("subject-")
        return f"{step} search_web 1" if named else "search_web 1"
    if call.role in ROLE_OF_RUN:
        return ROLE_OF_RUN[call.role]
    step = subject_of(call).removeprefix("subject-") if call.role == "researcher" else ANALYSIS
    return f"{step} take_turn {call.rounds + 1}"


async def recorded_boundaries(run: Run) -> list[str]:
    """Every activity of a run and its steps whose result Temporal has."""
    events = await run.events()
    recorded = _numbered("", completed_activities(events))
    for child in children_in(events):
        child_events = list((await run.client.get_workflow_handle(child).fetch_history()).events)
        recorded += _numbered(f"{child.split('/')[1]} ", completed_activities(child_events))
    return recorded


def _numbered(step: str, activities: list[str]) -> list[str]:
    seen: Counter[str] = Counter()
    named = []
    for activity in activities:
        seen[activity] += 1
        named.append(f"{step}{activity} {seen[activity]}")
    return named


async def until_recorded(client: Client, run_id: str, boundary: str) -> None:
    """Return as soon as Temporal has the result of an activity of a run; never when it will not have it."""
    *step, activity, nth = boundary.split()
    workflow_id = f"{run_id}/{step[0]}/1" if step else run_id
    while True:
        try:
            await _until_completed(client, workflow_id, activity, int(nth))
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
        else:
            return


async def _until_completed(client: Client, workflow_id: str, activity: str, nth: int) -> None:
    scheduled: dict[int, str] = {}
    completed = 0
    history = client.get_workflow_handle(workflow_id).fetch_history_events(wait_new_event=True)
    async for event in history:
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            scheduled[event.event_id] = event.activity_task_scheduled_event_attributes.activity_type.name
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            done = scheduled[event.activity_task_completed_event_attributes.scheduled_event_id]
            completed += done == activity
            if completed == nth:
                return
    raise AssertionError(f"{workflow_id} ended without the result of {activity} {nth}")
