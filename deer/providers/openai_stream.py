"""An answer as it arrives: a stream of server-sent events, or one body from endpoints that do not stream.

Read here rather than by the SDK, whose typed object for each piece costs more than the piece.
"""

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from deer.errors import ServiceError
from deer.providers.openai_chunks import Assembly
from deer.providers.openai_errors import malformed, unavailable
from deer.providers.openai_replies import json_of

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
_LONGEST_FIELD = max(len(field) for field in _FIELDS)
_END = "[DONE]"


class Progress(Enum):
    """How far an answer has come."""

    AWAITED = "awaited"
    """Nothing of it has come: heads, comments and empty pieces are none."""
    SPOKEN = "spoken"
    ENDED = "ended"
    """It is whole; counts of tokens may follow."""
    CLOSED = "closed"
    """Nothing follows."""


class AnswerReader:
    """Takes an answer's bytes in pieces of any length and gives the completion that they make."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._unread = b""
        self._is_stream: bool | None = None
        self._is_error_next = False
        self._half_event = ""
        self._assembly = Assembly()
        self._error: Mapping[str, Any] | None = None
        self._is_closed = False

    @property
    def progress(self) -> Progress:
        """How far the answer has come; a plain body is awaited until it is there."""
        if self._is_closed or self._error is not None:
            return Progress.CLOSED
        if self._assembly.is_ended:
            return Progress.ENDED
        return Progress.SPOKEN if self._assembly.has_begun else Progress.AWAITED

    def take(self, piece: bytes) -> bool:
        """Read on; whether the piece brought the answer forward. Raises ServiceError (Malformed) on a broken event."""
        self._unread += piece
        if self._is_stream is None and not self._knows_kind():
            return False
        if not self._is_stream:
            return False
        before = self._assembly.steps, self.progress
        *lines, self._unread = self._unread.split(b"\n")
        for line in lines:
            self._take_line(line)
        return (self._assembly.steps, self.progress) != before

    def cut(self) -> None:
        """Take what has come for the answer, cut as by the output limit."""
        self._assembly.cut()

    def completion(self) -> Mapping[str, Any]:  # Any: what endpoints send has no closed type
        """The whole answer, shaped like a body that was not streamed, or the body with an error in it.

        Raises ServiceError: Malformed for a body that is no JSON object, Unavailable for a stream without its end.
        """
        if not self._is_stream:
            return json_of(self._unread, self._endpoint)
        was_over = self.progress in (Progress.ENDED, Progress.CLOSED)
        try:
            self._take_line(self._unread)
            self._take_line(b"")
        except ServiceError:
            if not was_over:  # else only what follows the answer broke off
                raise
        self._unread = b""
        if self._error is not None:
            return self._error
        if self.progress not in (Progress.ENDED, Progress.CLOSED):
            raise unavailable(self._endpoint, "broke off in the middle of its answer")
        return self._assembly.completion()

    def _knows_kind(self) -> bool:
        head = self._unread.removeprefix(_BYTE_ORDER_MARK).lstrip()
        if len(head) < _LONGEST_FIELD and b"\n" not in head:
            return False
        self._is_stream = head.startswith(_FIELDS)
        if self._is_stream:
            self._unread = head
        return True

    def _take_line(self, line: bytes) -> None:
        name, _, value = line.rstrip(b"\r").partition(b":")
        if name == b"event":
            self._is_error_next = value.strip() == b"error"
        elif name == b"data":
            self._take_data(value.decode("utf-8", "replace").strip())
        elif not line.strip() and self._half_event:
            raise malformed(self._endpoint, "sent a piece of an answer that is not JSON")

    def _take_data(self, data: str) -> None:
        """One line of an event's data. Most events have one; JSON that goes over several is put together again."""
        if not data or self._is_closed:
            return
        if data == _END:
            self._is_closed = True
            return
        try:
            chunk = json.loads(self._half_event + data)
        except ValueError:
            self._half_event += data
            return
        self._half_event = ""
        if not isinstance(chunk, Mapping):
            return
        if self._is_error_next or chunk.get("error") or chunk.get("object") == "error":
            self._error = chunk if chunk.get("error") or chunk.get("object") == "error" else {"error": chunk}
        else:
            self._assembly.add(chunk)
