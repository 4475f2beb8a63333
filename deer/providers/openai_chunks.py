"""The pieces of a streamed completion, put together again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deer.providers.openai_replies import text_of, thoughts_in
from deer.providers.openai_seals import CALL_FIELDS, MESSAGE_FIELD, add_details

Json = Mapping[str, Any]  # what endpoints send has no closed type

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
_CUT = "length"


@dataclass
class _Call:
    """A tool call as far as it has come. Its name comes whole or in parts, its arguments mostly in parts."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    sealed: dict[str, Any] = field(default_factory=dict)

    def add(self, piece: Json) -> None:
        self.id = self.id or _word(piece.get("id"))
        self.sealed |= {name: piece[name] for name in CALL_FIELDS if piece.get(name)}
        function = piece.get("function")
        if not isinstance(function, Mapping):
            return
        name = _word(function.get("name"))
        # some endpoints repeat the name, whole or as far as it has come
        self.name = name if name.startswith(self.name) else self.name if name == "" else self.name + name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            self.arguments.append(arguments)
        elif arguments is not None:
            self.arguments.append(json.dumps(arguments, ensure_ascii=False))

    def is_followed_by(self, piece: Json, id_: str) -> bool:
        """Whether a piece that should belong to this call begins another: some endpoints count no index up."""
        name = _name_in(piece)
        if not name:
            return False
        if self.id and id_:
            return self.id != id_
        if self.arguments:
            return _is_object("".join(self.arguments))
        return "index" not in piece and self.name not in ("", name)

    def as_sent_whole(self) -> dict[str, Any]:
        return {"id": self.id, "function": {"name": self.name, "arguments": "".join(self.arguments)}, **self.sealed}


class Assembly:
    """Adds up the pieces of one answer. Only the first choice counts; no more than one is ever asked for."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
        self._details: list[dict[str, Any]] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._has_choice = False
        self._finish_reason = ""
        self._usage: Json | None = None
        self._model = ""
        self.steps = 0
        """How many pieces have brought something of the answer."""

    @property
    def has_begun(self) -> bool:
        """Whether anything of the answer has come."""
        return self.steps > 0

    @property
    def is_ended(self) -> bool:
        """Whether the endpoint has said why it stopped."""
        return bool(self._finish_reason)

    def add(self, chunk: Json) -> None:
        """Take one piece in; unknown parts of it are left aside."""
        self._model = self._model or _word(chunk.get("model"))
        if isinstance(usage := chunk.get("usage"), Mapping):
            self._usage = usage
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, Sequence) and choices else None
        if not isinstance(choice, Mapping) or choice.get("index"):
            return
        self._has_choice = True
        brought = False
        if isinstance(delta := choice.get("delta"), Mapping):
            brought = self._add_delta(delta)
        elif isinstance(message := choice.get("message"), Mapping):
            brought = self._take_whole(message)
        if reason := _word(choice.get("finish_reason")):
            self._finish_reason = reason
            brought = True
        self.steps += brought

    def cut(self) -> None:
        """End the answer here, as the output limit would."""
        self._finish_reason = _CUT

    def completion(self) -> Json:
        """The body that the endpoint would have sent without streaming."""
        message: dict[str, Any] = {name: "".join(pieces) for name, pieces in self._texts.items() if pieces}
        message[MESSAGE_FIELD] = self._details
        message["tool_calls"] = [call.as_sent_whole() for call in self._calls]
        choice = {"message": message, "finish_reason": self._finish_reason}
        choices = [choice] if self._has_choice else []
        return {"choices": choices, "usage": self._usage, "model": self._model}

    def _add_delta(self, delta: Json) -> bool:
        for name, pieces in self._texts.items():
            if text := text_of(delta.get(name)):
                pieces.append(text)
        if thought := thoughts_in(delta.get("content")):
            self._texts["reasoning_content"].append(thought)
        add_details(self._details, delta.get(MESSAGE_FIELD))
        calls = delta.get("tool_calls")
        for piece in calls if isinstance(calls, Sequence) else ():
            if isinstance(piece, Mapping):
                self._call_of(piece).add(piece)
        return any(value for name, value in delta.items() if name != "role")

    def _take_whole(self, message: Json) -> bool:
        """A message in place of a piece is the whole answer, whatever came before it."""
        for pieces in self._texts.values():
            pieces.clear()
        self._details.clear()
        self._calls.clear()
        self._by_index.clear()
        return self._add_delta(message)

    def _call_of(self, piece: Json) -> _Call:
        """The call that a piece belongs to: told by index or id, else the one that is being written."""
        index = piece.get("index")
        id_ = _word(piece.get("id"))
        current = self._by_index.get(index) if isinstance(index, int) else self._without_index(id_)
        if current is None or current.is_followed_by(piece, id_):
            current = _Call()
            self._calls.append(current)
        if isinstance(index, int):
            self._by_index[index] = current
        return current

    def _without_index(self, id_: str) -> _Call | None:
        if id_:
            return next((call for call in self._calls if call.id == id_), None)
        return self._calls[-1] if self._calls else None


def _name_in(piece: Json) -> str:
    function = piece.get("function")
    return _word(function.get("name")) if isinstance(function, Mapping) else ""


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), Mapping)
    except ValueError:
        return False


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
