"""How values travel through Temporal, and what happens to those that are too large for it.

Temporal takes values of 2 MB and messages of 4 MB. Long texts do not come near that, since models carry references to
them. What many short ones add up to is kept in the TextStore by this converter when it exceeds a threshold, and only
its hash travels. What went wrong is told in few words, since failures cannot be kept elsewhere.
"""

import base64
import dataclasses
import json
from collections.abc import Sequence

from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultFailureConverter,
    DefaultPayloadConverter,
    ExternalStorage,
    JSONPlainPayloadConverter,
    PayloadConverter,
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
)

from deer.ports import TextStore

LARGE_PAYLOAD_BYTES = 128 * 1024
"""Values from here on are kept in the store: thirty steps that start at once fit into one message of 4 MB."""

MAX_MESSAGE_CHARS = 4_000
MAX_TRACE_CHARS = 8_000
_CUT = " … (cut)"
_CLAIM = "sha256"


def data_converter(store: TextStore | None = None) -> DataConverter:
    """How values become payloads; every client, worker and replayer must use this one.

    `store`: where large values are kept. Without one they cannot be read, and values above 2 MB are refused.
    """
    converter = DataConverter(payload_converter_class=PydanticPayloads, failure_converter_class=ShortFailures)
    if store is None:
        return converter
    kept = ExternalStorage(drivers=[_KeptPayloads(store)], payload_size_threshold=LARGE_PAYLOAD_BYTES)
    return dataclasses.replace(converter, external_storage=kept)


_JSON = PydanticJSONPlainPayloadConverter()
_CONVERTERS = tuple(
    _JSON if isinstance(usual, JSONPlainPayloadConverter) else usual
    for usual in DefaultPayloadConverter.default_encoding_payload_converters
)


class PydanticPayloads(CompositePayloadConverter):
    """Values as Pydantic has them, by one converter of JSON for all.

    The SDK makes a converter of this class for nearly every value, and its own of Pydantic would learn each time anew
    how the type at hand is read.
    """

    def __init__(self) -> None:
        super().__init__(*_CONVERTERS)


class ShortFailures(DefaultFailureConverter):
    """Cuts what failures say: a fault may quote all that it choked on, and a failure is no payload that can be kept."""

    def to_failure(self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure) -> None:
        super().to_failure(exception, payload_converter, failure)
        told: Failure | None = failure
        while told is not None:
            told.message = _cut(told.message, MAX_MESSAGE_CHARS)
            told.stack_trace = _cut(told.stack_trace, MAX_TRACE_CHARS)
            told = told.cause if told.HasField("cause") else None


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT


class _KeptPayloads(StorageDriver):
    """Payloads as texts of the TextStore, readable where they are text themselves."""

    def __init__(self, store: TextStore) -> None:
        self._store = store

    def name(self) -> str:
        return "deer-store"

    def type(self) -> str:
        return "deer.text-store"

    async def store(self, context: StorageDriverStoreContext, payloads: Sequence[Payload]) -> list[StorageDriverClaim]:
        return [StorageDriverClaim({_CLAIM: await self._store.put(_written(payload))}) for payload in payloads]

    async def retrieve(
        self, context: StorageDriverRetrieveContext, claims: Sequence[StorageDriverClaim]
    ) -> list[Payload]:
        return [_read(await self._store.get(claim.claim_data[_CLAIM])) for claim in claims]


def _written(payload: Payload) -> str:
    """A payload as JSON; its data as text where they are, so that the hashes in it are found by whoever looks."""
    try:
        data = {"text": payload.data.decode()}
    except UnicodeDecodeError:
        data = {"base64": base64.b64encode(payload.data).decode()}
    metadata = {name: base64.b64encode(value).decode() for name, value in payload.metadata.items()}
    return json.dumps({"metadata": metadata, **data}, ensure_ascii=False)


def _read(text: str) -> Payload:
    kept = json.loads(text)
    data = kept["text"].encode() if "text" in kept else base64.b64decode(kept["base64"])
    return Payload(metadata={name: base64.b64decode(value) for name, value in kept["metadata"].items()}, data=data)
