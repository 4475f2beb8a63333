from collections.abc import Iterator

import pytest

from tests.scripted import ScriptedServices


@pytest.fixture
def scripted() -> Iterator[ScriptedServices]:
    """Scripted model, search and pages of this test; a client that broke the message order fails it."""
    with ScriptedServices() as services:
        yield services
    assert services.complaints == []
