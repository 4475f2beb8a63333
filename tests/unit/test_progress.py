"""What is told of a run as it goes on: lines of progress, and notices."""

from datetime import UTC, datetime

import pytest

from deer import flow
from deer.flow import RunState
from deer.models import ResearchRequest

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def begun() -> RunState:
    """A run that has done nothing."""
    return RunState.begin("r1", ResearchRequest(question="What is the value?"))


def test_progress_is_read_from_a_cursor_and_forgets_the_oldest() -> None:
    """Each line is given once; beyond the limit the oldest are gone and an old cursor gets what is left."""
    state = begun()
    state.record(NOW, "first")
    page = flow.progress_since(state, "")
    assert [entry.text for entry in page.entries] == ["first"]
    assert flow.progress_since(state, page.cursor).entries == ()
    for number in range(600):
        state.record(NOW, f"line\n {number}")
    later = flow.progress_since(state, page.cursor)
    assert (len(later.entries), later.entries[-1].text) == (500, "line 599")
    assert flow.progress_since(state, "nonsense").entries == later.entries


@pytest.mark.parametrize("cursor", ["²", "9" * 6_000, "-1", " 1", None, 1, {"since": "1"}])
def test_what_is_no_cursor_asks_from_the_beginning(cursor: object) -> None:
    """Whatever Temporal's tools deliver gets an answer."""
    state = begun()
    state.record(NOW, "first")
    assert len(flow.progress_since(state, cursor).entries) == 1
    assert flow.progress_since(state, "999999").entries == ()


def test_refused_messages_leave_room_for_other_notices() -> None:
    """Of hundreds of refused messages the first are told, the others stand in the progress, and all else is told."""
    state = begun()
    for number in range(300):
        state.refuse_message(NOW, "approve", f"revision {number} is not the waiting one" + "!" * 2_000)
        state.refuse_message(NOW, "approve", "revision 0 is not the waiting one" + "!" * 2_000)
    state.notice(NOW, "the judge failed")
    assert len(state.notices) == 22
    assert state.notices[-2:] == (
        "More than 20 messages were not taken; the others are told in the progress only.",
        "the judge failed",
    )
    assert "revision 299" in state.progress.entries[-2].text
    assert max(map(len, state.notices)) == 1_000
