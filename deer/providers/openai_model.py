"""A model behind any endpoint that speaks OpenAI's chat completions."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, Protocol

import httpx2
import openai

from deer.errors import FailureKind, ServiceError
from deer.models import ChatReply
from deer.ports import ChatRequest
from deer.providers.complaints import words_of
from deer.providers.endpoints import checked_key, is_on_this_machine, shown_address, trusted_certificates
from deer.providers.openai_answers import understood
from deer.providers.openai_dialects import Dialect
from deer.providers.openai_errors import Refusal, error_in, service_error, unavailable
from deer.providers.openai_replies import reasoning_field_in, reply_of
from deer.providers.openai_requests import body_of
from deer.providers.openai_seals import sealed_in, with_own_seals
from deer.providers.openai_stream import AnswerReader, Progress
from deer.providers.openai_usage import with_estimated_usage

OPENAI_ADDRESS = "https://api.openai.com/v1"
_SHOWN_MODELS = 10
_TOKENS_PER_PRICE = 1_000_000

STALL_TIMEOUT = timedelta(seconds=60)
LONGEST_ANSWER = timedelta(minutes=9)
"""A model that is still writing then is taken for cut by its output limit: what it wrote is paid for.

Below the ten minutes that the flow gives a call.
"""

_AFTER_LAST_WORD = timedelta(seconds=5)
"""How long the count of tokens may take after the answer is whole."""

_AFTER_CLOSING = timedelta(milliseconds=500)
"""How long the end of the response may take after the end of the stream; a connection that has it is used again."""

Answer = Mapping[str, Any] | Refusal  # Any: what endpoints answer has no closed type


class _Response(Protocol):
    """What is read of a response; the SDK's own class for it is not public."""

    @property
    def headers(self) -> Mapping[str, str]: ...
    def iter_bytes(self) -> AsyncIterator[bytes]: ...


class OpenAIModel:
    """Implements `deer.ports.ChatModel` over the `openai` SDK, without its retries.

    `model` None means the only model that the endpoint lists. `base_url` None is OpenAI itself; `api_key` None
    suits endpoints that want none. Answers are streamed where the endpoint can: `timeout` bounds the time until the
    first token, or until the whole answer from endpoints that do not stream, `stall_timeout` the time between tokens.
    Prices are USD per million tokens; a missing one counts as nothing. `extra` goes with every request (`temperature`,
    `max_tokens`, what an endpoint adds of its own).

    An endpoint that refuses a part of the dialect is asked again in simpler terms within the same call, and these terms
    are kept for the life of the object: nothing is probed, and nothing that was refused is tried again.
    """

    def __init__(
        self,
        model: str | None,
        base_url: str | None,
        api_key: str | None,
        timeout: timedelta,
        input_price: float | None = None,
        output_price: float | None = None,
        extra: Mapping[str, Any] | None = None,  # JSON of the endpoint's own making
        stall_timeout: timedelta = STALL_TIMEOUT,
    ) -> None:
        address = base_url or OPENAI_ADDRESS
        key = checked_key(api_key, "the key of the model endpoint") if api_key else None
        self._endpoint = shown_address(address)
        self._model = model
        self._secrets = (key,) if key else ()
        self._timeout = timeout
        self._stall_timeout = stall_timeout
        self._prices = (input_price or 0.0, output_price or 0.0)
        self._has_price = input_price is not None or output_price is not None
        self._extra = dict(extra or {})
        self._dialect = Dialect()
        self._naming = asyncio.Lock()
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",  # without one the SDK would take the environment's
            base_url=address,
            max_retries=0,
            timeout=None,  # `_read` keeps the time
            http_client=openai.DefaultAsyncHttpxClient(
                timeout=None, trust_env=not is_on_this_machine(address), verify=trusted_certificates()
            ),
        )

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        await self._client.close()

    async def complete(self, request: ChatRequest) -> ChatReply:
        model = await self._model_name()
        name = f"{self._endpoint} {model}"  # of who seals thoughts
        own = request.model_copy(update={"messages": with_own_seals(request.messages, name)})
        while True:
            dialect = self._dialect
            body = body_of(own, model, dialect) | dialect.settings(self._extra)
            answer = await self._answer(
                # All goes as the extra body: what the SDK is given by name it walks through to rename, for a third of a
                # call's computing time, though nothing here needs renaming.
                self._client.chat.completions.with_streaming_response.create(model="", messages=[], extra_body=body)
            )
            if not isinstance(answer, Refusal):
                reply = with_estimated_usage(reply_of(answer, self._endpoint), body)
                self._learn(dialect, dialect.after_answer(request, reply, reasoning_field_in(answer)))
                reply = understood(reply, request, dialect).model_copy(update={"sealed": sealed_in(answer, name)})
                return self._priced(reply, model)
            simpler = dialect.without_refused(answer, own, self._extra)
            if simpler is None:
                raise service_error(answer, self._endpoint, model, self._secrets)
            self._learn(dialect, simpler)

    def _learn(self, spoken: Dialect, better: Dialect) -> None:
        if self._dialect == spoken:  # else a call beside this one has learnt something: ask in its terms first
            self._dialect = better

    def _priced(self, reply: ChatReply, model: str) -> ChatReply:
        usage = reply.usage
        input_price, output_price = self._prices
        cost = (usage.input_tokens * input_price + usage.output_tokens * output_price) / _TOKENS_PER_PRICE
        name = reply.model or model
        accounts = {
            "cost_usd": cost,
            "models": (name,),
            "unpriced_calls": 0 if self._has_price else usage.model_calls,
            "estimated_calls": usage.model_calls if reply.usage_is_estimated else 0,
        }
        return reply.model_copy(update={"usage": usage.model_copy(update=accounts), "model": name})

    async def _model_name(self) -> str:
        async with self._naming:
            if self._model is None:
                self._model = await self._only_listed_model()
        return self._model

    async def _only_listed_model(self) -> str:
        answer = await self._answer(self._client.models.with_streaming_response.list())
        if isinstance(answer, Refusal) and answer.status != 404:
            raise service_error(answer, self._endpoint, "", self._secrets)
        listed = answer.get("data") if isinstance(answer, Mapping) else None
        entries = listed if isinstance(listed, list) else []
        names = [entry["id"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
        if len(names) == 1:
            return str(names[0])
        shown = ", ".join(names[:_SHOWN_MODELS]) + (", …" if len(names) > _SHOWN_MODELS else "")
        what = f"lists {len(names)} models ({words_of(shown, self._secrets)})" if names else "lists no model"
        raise ServiceError(
            f"the model endpoint {self._endpoint} {what}; name one in BASIC_MODEL", FailureKind.UNKNOWN_MODEL
        )

    async def _answer(self, opening: AbstractAsyncContextManager[_Response]) -> Answer:
        """What came back, as a whole, or the refusal. Raises ServiceError when neither did.

        Errors are raised without their cause: a cause travels into histories, and the SDK's may quote a key.
        """
        reader = AnswerReader(self._endpoint)
        try:
            headers = await self._read(opening, reader)
        except openai.APIStatusError as error:
            return Refusal(error.status_code, error.response.headers, error.body)
        except (openai.APITimeoutError, TimeoutError):
            raise unavailable(self._endpoint, self._silence(reader.progress)) from None
        except openai.APIConnectionError as error:
            cause = words_of(str(error.__cause__ or error), self._secrets)
            what = f"cannot be reached ({cause}); check OPENAI_BASE_URL and the network"
            raise unavailable(self._endpoint, what) from None
        payload = reader.completion()
        return error_in(payload, headers) or payload

    async def _read(self, opening: AbstractAsyncContextManager[_Response], reader: AnswerReader) -> Mapping[str, str]:
        """Read an answer to its end; the headers that came with it.

        Raises TimeoutError when it stalls, and the SDK's errors before it begins. What breaks off after its end is of
        no matter; what breaks off before, the reader tells.
        """
        clock = asyncio.get_running_loop().time
        latest = clock() + LONGEST_ANSWER.total_seconds()
        headers: Mapping[str, str] = {}
        try:
            async with asyncio.timeout(self._timeout.total_seconds()) as patience, opening as response:
                headers = response.headers
                async for piece in response.iter_bytes():
                    if reader.take(piece):
                        patience.reschedule(min(clock() + self._patience(reader.progress), latest))
        except TimeoutError:
            if reader.progress is Progress.SPOKEN and clock() >= latest:
                reader.cut()
            if reader.progress in (Progress.AWAITED, Progress.SPOKEN):
                raise
        except httpx2.RequestError:
            if reader.progress in (Progress.AWAITED, Progress.SPOKEN):
                raise unavailable(self._endpoint, "broke off in the middle of its answer") from None
        return headers

    def _patience(self, progress: Progress) -> float:
        """Seconds to wait for what comes next."""
        if progress is Progress.SPOKEN:
            return self._stall_timeout.total_seconds()
        return (_AFTER_LAST_WORD if progress is Progress.ENDED else _AFTER_CLOSING).total_seconds()

    def _silence(self, progress: Progress) -> str:
        if progress is Progress.SPOKEN:
            return f"fell silent for {self._stall_timeout.total_seconds():g} s in the middle of its answer"
        return f"did not answer within {self._timeout.total_seconds():g} s"
