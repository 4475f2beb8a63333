"""A model behind any endpoint that speaks OpenAI's chat completions."""

import asyncio
from collections.abc import Awaitable, Mapping
from datetime import timedelta
from typing import Any, Protocol

import openai

from deer.errors import FailureKind, ServiceError
from deer.models import ChatReply
from deer.ports import ChatRequest
from deer.providers.complaints import words_of
from deer.providers.endpoints import checked_key, is_on_this_machine, shown_address, trusted_certificates
from deer.providers.openai_errors import Refusal, error_in, service_error
from deer.providers.openai_replies import json_of, reply_of
from deer.providers.openai_requests import Dialect, body_of

OPENAI_ADDRESS = "https://api.openai.com/v1"
_SHOWN_MODELS = 10
_TOKENS_PER_PRICE = 1_000_000

Answer = Mapping[str, Any] | Refusal  # Any: what endpoints answer has no closed type


class _Response(Protocol):
    """What is read of a response; the SDK's own class for it is not public."""

    @property
    def content(self) -> bytes: ...
    @property
    def headers(self) -> Mapping[str, str]: ...


class OpenAIModel:
    """Implements `deer.ports.ChatModel` over the `openai` SDK, without its retries.

    `model` None means the only model that the endpoint lists. `base_url` None is OpenAI itself; `api_key` None
    suits endpoints that want none. `timeout` bounds one request from first to last byte. Prices are USD per million
    tokens; a missing one counts as nothing. `extra` goes with every request as it is (`temperature`, `max_tokens`,
    what an endpoint adds of its own).

    An endpoint that refuses `json_schema`, a forced tool choice or `parallel_tool_calls` is asked again in simpler
    terms within the same call, and these terms are kept for the life of the object.
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
    ) -> None:
        address = base_url or OPENAI_ADDRESS
        key = checked_key(api_key, "the key of the model endpoint") if api_key else None
        self._endpoint = shown_address(address)
        self._model = model
        self._secrets = (key,) if key else ()
        self._timeout = timeout
        self._prices = (input_price or 0.0, output_price or 0.0)
        self._has_price = input_price is not None or output_price is not None
        self._extra = dict(extra or {})
        self._dialect = Dialect()
        self._naming = asyncio.Lock()
        seconds = timeout.total_seconds()
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",  # without one the SDK would take the environment's
            base_url=address,
            max_retries=0,
            timeout=seconds,
            http_client=openai.DefaultAsyncHttpxClient(
                timeout=seconds, trust_env=not is_on_this_machine(address), verify=trusted_certificates()
            ),
        )

    async def aclose(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        await self._client.close()

    async def complete(self, request: ChatRequest) -> ChatReply:
        model = await self._model_name()
        while True:
            dialect = self._dialect
            answer = await self._post(body_of(request, model, dialect) | self._extra)
            if not isinstance(answer, Refusal):
                return self._priced(reply_of(answer, self._endpoint), model)
            simpler = dialect.without_refused(answer, request) if answer.status in (400, 422) else None
            if simpler is None:
                raise service_error(answer, self._endpoint, model, self._secrets)
            if self._dialect == dialect:  # else a call beside this one has learnt something: ask in its terms first
                self._dialect = simpler

    def _priced(self, reply: ChatReply, model: str) -> ChatReply:
        usage = reply.usage
        input_price, output_price = self._prices
        cost = (usage.input_tokens * input_price + usage.output_tokens * output_price) / _TOKENS_PER_PRICE
        name = reply.model or model
        unpriced = 0 if self._has_price else usage.model_calls
        spent = usage.model_copy(update={"cost_usd": cost, "models": (name,), "unpriced_calls": unpriced})
        return reply.model_copy(update={"usage": spent, "model": name})

    async def _model_name(self) -> str:
        async with self._naming:
            if self._model is None:
                self._model = await self._only_listed_model()
        return self._model

    async def _only_listed_model(self) -> str:
        answer = await self._answer(self._client.models.with_raw_response.list())
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

    async def _post(self, body: dict[str, Any]) -> Answer:  # Any: see openai_requests.Json
        # All goes as the extra body: what the SDK is given by name it walks through to rename, for a third of a call's
        # computing time, though nothing here needs renaming.
        return await self._answer(
            self._client.chat.completions.with_raw_response.create(model="", messages=[], extra_body=body)
        )

    async def _answer(self, call: Awaitable[_Response]) -> Answer:
        """The JSON that came back, or the refusal. Raises ServiceError when neither did.

        Errors are raised without their cause: a cause travels into histories, and the SDK's may quote a key.
        """
        seconds = self._timeout.total_seconds()
        try:
            async with asyncio.timeout(seconds):
                response = await call
        except openai.APIStatusError as error:
            return Refusal(error.status_code, error.response.headers, error.body)
        except (openai.APITimeoutError, TimeoutError):
            raise self._unavailable(f"did not answer within {seconds:g} s") from None
        except openai.APIConnectionError as error:
            cause = words_of(str(error.__cause__ or error), self._secrets)
            raise self._unavailable(f"cannot be reached ({cause}); check OPENAI_BASE_URL and the network") from None
        payload = json_of(response.content, self._endpoint)
        return error_in(payload, response.headers) or payload

    def _unavailable(self, what: str) -> ServiceError:
        return ServiceError(f"the model endpoint {self._endpoint} {what}", FailureKind.UNAVAILABLE, retryable=True)
