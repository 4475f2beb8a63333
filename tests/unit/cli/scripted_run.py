"""A run, a store, a display and a person for tests of the command line, each an implementation of its port."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, TypeVar

from rich.console import Console, RenderableType

from deer.cli.handles import Standing
from deer.errors import DeerError, NotFound
from deer.models import (
    HandOff,
    Phase,
    PlanStatus,
    ProgressEntry,
    ProgressPage,
    RunStatus,
    RunUsage,
    StepStatus,
    StepStatusView,
    StepType,
    TextRef,
)

T = TypeVar("T")

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
QUESTION = "How do heat pumps fare in the cold?"


def entry(text: str, step_id: str | None = None, second: int = 0) -> ProgressEntry:
    """A line of progress, `second` seconds after noon."""
    return ProgressEntry(at=NOON.replace(second=second), text=text, step_id=step_id)


def page(phase: Phase, *entries: ProgressEntry, cursor: str = "1", running: tuple[str, ...] = ()) -> ProgressPage:
    """An answer to `progress`."""
    return ProgressPage(cursor=cursor, phase=phase, reason=None, entries=entries, running_steps=running)


def step(step_id: str, **changes: Any) -> StepStatusView:
    """A step of a plan that was not begun."""
    fields: dict[str, Any] = {
        "id": step_id,
        "title": f"Angle {step_id}",
        "description": f"Collect facts on {step_id}.",
        "step_type": StepType.RESEARCH,
        "need_search": True,
        "depends_on": (),
        "status": StepStatus.PENDING,
        "finding": None,
        "reason": None,
    }
    return StepStatusView.model_validate({**fields, **changes})


def plan(*steps: StepStatusView, revision: int = 1) -> PlanStatus:
    """A plan; without steps given, of two of which the second needs the first."""
    return PlanStatus(
        revision=revision,
        title="Heat pumps in cold climates",
        thought="Look at two angles.",
        has_enough_context=False,
        steps=steps or (step("s1"), step("s2", step_type=StepType.ANALYSIS, depends_on=("s1",))),
    )


def status(phase: Phase = Phase.RESEARCHING, **changes: Any) -> RunStatus:
    """A status object of the run `r1`."""
    fields: dict[str, Any] = {
        "id": "r1",
        "phase": phase,
        "reason": None,
        "question": QUESTION,
        "locale": "en-US",
        "round": 1,
        "max_rounds": 1,
        "plan": plan(),
        "sources": (),
        "handoffs": (HandOff(at=NOON, sender="coordinator", to="planner", reason="a question to research"),),
        "usage": RunUsage(model_calls=3, searches=1),
        "notices": (),
        "report": None,
        "answer": None,
    }
    return RunStatus.model_validate({**fields, **changes})


def standing(phase: Phase = Phase.RESEARCHING, *, is_open: bool = True, ended_by: str | None = None) -> Standing:
    """What Temporal knows of the run `r1`."""
    closed_at = None if is_open else NOON
    return Standing("r1", is_open, phase, QUESTION, "", NOON, closed_at, ended_by)


@dataclass
class ScriptedRun:
    """A run that answers as it was told; an error in place of an answer is raised, the last answer is repeated."""

    now: Standing | DeerError = field(default_factory=standing)
    account: RunStatus | DeerError = field(default_factory=status)
    texts: Mapping[str, TextRef] = field(default_factory=dict)
    pages: Sequence[ProgressPage | DeerError] = ()
    step_pages: Mapping[str, Sequence[ProgressPage | DeerError]] = field(default_factory=dict)
    refusals: Sequence[DeerError] = ()
    id: str = "r1"
    sent: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    asked_since: list[tuple[str, str | None]] = field(default_factory=list)
    cancelled: bool = False

    def __post_init__(self) -> None:
        self._pages: dict[str | None, deque[ProgressPage | DeerError]] = {None: deque(self.pages)}
        self._pages |= {step_id: deque(pages) for step_id, pages in self.step_pages.items()}
        self._refusals = deque(self.refusals)

    async def standing(self) -> Standing:
        return _given(self.now)

    async def status(self) -> RunStatus:
        return _given(self.account)

    async def references(self) -> Mapping[str, TextRef]:
        return self.texts

    async def progress(self, since: str, step: str | None = None) -> ProgressPage:
        self.asked_since.append((since, step))
        pages = self._pages[step]
        return _given(pages.popleft() if len(pages) > 1 else pages[0])

    async def update(self, name: str, message: Mapping[str, Any]) -> str:
        if self._refusals:
            raise self._refusals.popleft()
        self.sent.append((name, message))
        return "it was taken"

    async def cancel(self) -> None:
        self.cancelled = True


def _given(answer: T | DeerError) -> T:
    if isinstance(answer, DeerError):
        raise answer
    return answer


class MemoryStore:
    """A TextStore in memory."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.entries: dict[str, str] = {}

    async def require_writable(self) -> None:
        pass

    async def put(self, text: str) -> str:
        name = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self.texts[name] = text
        return name

    async def get(self, sha256: str) -> str:
        if sha256 not in self.texts:
            raise NotFound(f"no text {sha256[:12]}")
        return self.texts[sha256]

    async def write_entry(self, name: str, text: str) -> None:
        self.entries[name] = text

    async def read_entry(self, name: str) -> str | None:
        return self.entries.get(name)

    async def entry_names(self, prefix: str) -> Sequence[str]:
        return sorted(name for name in self.entries if name.startswith(prefix))

    async def save_record(self, record: RunStatus) -> None:
        """Save a record as a run does."""
        await self.write_entry(f"runs/{record.id}", record.model_dump_json(by_alias=True))


class Shown:
    """A display that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self.pictures: list[RunStatus] = []

    def show_entries(self, entries: Iterable[ProgressEntry]) -> None:
        self.lines += [f"{entry.step_id or '-'} {entry.text}" for entry in entries]

    def show_warning(self, text: str) -> None:
        self.warnings.append(text)

    def show_picture(self, status: RunStatus) -> None:
        self.pictures.append(status)


class ScriptedPerson:
    """A person at a terminal who types these lines and saves these texts in the editor; None closes the input."""

    def __init__(self, *lines: str | None, saves: Sequence[str] = ()) -> None:
        self._lines = deque(lines)
        self._saves = deque(saves)
        self.was_given: list[str] = []
        self._console = Console(record=True, width=120, file=None, quiet=False, stderr=True)

    @property
    def seen(self) -> str:
        """All that was shown."""
        return self._console.export_text(clear=False)

    def show(self, what: RenderableType) -> None:
        self._console.print(what)

    async def ask(self, prompt: str) -> str | None:
        self._console.print(prompt, markup=False)
        return self._lines.popleft()

    async def edit(self, text: str) -> str:
        self.was_given.append(text)
        return self._saves.popleft() if self._saves else text
