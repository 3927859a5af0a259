"""Handlers by kind: the arguments of a function, the type of the payload, and the handler's own retry options."""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from lonnymq.client.arguments import (
    MAX_INT32,
    MAX_RESULT_BYTES,
    Duration,
    milliseconds,
    number,
    optional,
)
from lonnymq.client.arguments import name as checked_name
from lonnymq.errors import InvalidArgument
from lonnymq.worker.context import Context, Contexts, SyncContext, SyncContexts
from lonnymq.worker.result_bytes import DEFAULT_RESULT_BYTES

Function = Callable[..., Any]
ANY = "*"
CONTEXTS = (Context, SyncContext, Contexts, SyncContexts)


@dataclass(frozen=True, slots=True, eq=False)
class Handler:
    """One function and the options of its registration."""

    function: Function
    kind: str | None
    is_async: bool
    batch: int | None
    decode: Decode | None
    takes_context: bool
    retry_delays_ms: tuple[int, ...]
    retry_jitter: float
    max_attempts: int | None
    timeout_ms: int | None
    max_result_bytes: int = DEFAULT_RESULT_BYTES

    @property
    def title(self) -> str:
        """The name of the function in logs."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def retry_ms(self, attempt: int) -> int | None:
        """Return the delay that this handler wants after an attempt, or None for the channel's back-off."""
        if not self.retry_delays_ms:
            return None
        delay = self.retry_delays_ms[min(attempt, len(self.retry_delays_ms)) - 1]
        return round(delay * (1 + self.retry_jitter * random.random()))  # noqa: S311 - spreads load

    def arguments(self, payload: Any, context: Any) -> tuple[Any, ...]:
        """Return the arguments of the function: payload, context, both or none."""
        if self.decode is None:
            return (context,) if self.takes_context else ()
        return (payload, context) if self.takes_context else (payload,)


class Handlers:
    """The registered handlers."""

    def __init__(self) -> None:
        self.by_kind: dict[str | None, Handler] = {}

    def __iter__(self) -> Iterator[Handler]:
        return iter(self.by_kind.values())

    def __len__(self) -> int:
        return len(self.by_kind)

    def get(self, kind: str | None) -> Handler | None:
        """Return the handler of a kind, else the handler of any kind."""
        return self.by_kind.get(kind) or self.by_kind.get(ANY)

    @property
    def kinds(self) -> tuple[str | None, ...]:
        """The kinds that have a handler."""
        return tuple(self.by_kind)

    def add(
        self,
        function: Function,
        kind: str | None,
        *,
        batch: int | None = None,
        retry_delays_ms: Sequence[Duration] = (),
        retry_jitter: float = 0.1,
        max_attempts: int | None = None,
        timeout_ms: Duration | None = None,
        max_result_bytes: int = DEFAULT_RESULT_BYTES,
    ) -> None:
        """Register the function of a kind."""
        number(
            f"max_result_bytes must be a whole number from 0 to {MAX_RESULT_BYTES}",
            max_result_bytes,
            least=0,
            most=MAX_RESULT_BYTES,
        )
        optional(checked_name, "kind", kind)
        if kind in self.by_kind:
            raise InvalidArgument(
                f"kind {kind!r} has a handler already: {self.by_kind[kind].title}"
            )
        for what, value in (("batch", batch), ("max_attempts", max_attempts)):
            if value is not None:
                number(f"{what} must be a whole number from 1", value, least=1, most=MAX_INT32)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise InvalidArgument(
                f"a handler cannot be a generator: {function!r} contains yield, so that a call runs nothing"
            )
        is_async = is_coroutine_function(function)
        if timeout_ms is not None and not is_async:
            raise InvalidArgument("timeout_ms needs an async handler: a thread cannot be stopped")
        annotation, takes_payload, takes_context = inspect_parameters(function, batch)
        self.by_kind[kind] = Handler(
            function=function,
            kind=kind,
            is_async=is_async,
            batch=batch,
            decode=create_decoder(annotation) if takes_payload else None,
            takes_context=takes_context,
            retry_delays_ms=tuple(
                milliseconds("retry_delays_ms", each) for each in retry_delays_ms
            ),
            retry_jitter=retry_jitter,
            max_attempts=max_attempts,
            timeout_ms=optional(milliseconds, "timeout_ms", timeout_ms),
            max_result_bytes=max_result_bytes,
        )


def is_coroutine_function(function: Function) -> bool:
    """Return whether a call returns an awaitable."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - of an object whose __call__ is async
    )


def inspect_parameters(function: Function, batch: int | None) -> tuple[Any, bool, bool]:
    """Return the payload's annotation, whether the function takes the payload, and whether it takes the context."""
    hints = resolve_annotations(function)
    wanted = [
        each
        for each in inspect.signature(function).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        and (each.default is each.empty or is_context(hints.get(each.name)))
    ]
    kinds = [hints.get(each.name) for each in wanted]
    if len(kinds) == 1 and is_context(kinds[0]):
        return None, False, True
    if len(kinds) > 2 or (kinds and is_context(kinds[0])):
        raise InvalidArgument(
            f"a handler takes the payload and optionally the context: {function!r} takes {len(kinds)} arguments"
        )
    annotation = kinds[0] if kinds else None
    if batch is not None and annotation is not None:
        annotation = batch_item_type(function, annotation)
    return annotation, bool(kinds), len(kinds) == 2


def resolve_annotations(function: Function) -> dict[str, Any]:
    """Return the annotations, with strings resolved."""
    try:
        target = function if inspect.isroutine(function) else type(function).__call__
        return get_type_hints(target, include_extras=True)
    except NameError as error:
        raise InvalidArgument(
            f"an annotation of {function!r} cannot be resolved: {error}. "
            "Define the type at the top of the module, before the handler"
        ) from error


def batch_item_type(function: Function, annotation: Any) -> Any:
    """Return the type of one payload of a batch."""
    if get_origin(annotation) is not list:
        raise InvalidArgument(
            f"a batch handler takes a list of payloads: annotate the first parameter of {function!r} as list[…]"
        )
    return get_args(annotation)[0]


def is_context(annotation: Any) -> bool:
    """Return whether an annotation is a context class."""
    return isinstance(annotation, type) and issubclass(annotation, CONTEXTS)


Decode = Callable[[bytes], Any]


class InvalidPayload(Exception):
    """The payload does not match the handler's annotation."""


def create_decoder(annotation: Any) -> Decode:
    """Create the reader of a type: bytes unchanged, text as UTF-8, all else as JSON."""
    if annotation in (bytes, None):
        return bytes
    if annotation is str:
        return decode_text
    if any(map(is_pydantic, type_parts(annotation))):
        return pydantic_decoder(annotation)
    return msgspec_decoder(annotation)


def decode_text(content: bytes) -> str:
    """Decode UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidPayload(
            f"payload is not UTF-8: {error.reason} at byte {error.start}"
        ) from None


def msgspec_decoder(annotation: Any) -> Decode:
    """Create a JSON reader for dict, list, Any, dataclass, TypedDict, NamedTuple, Struct and combinations."""
    try:
        is_unknown = any(
            is_custom(each) for each in type_parts(annotation) if isinstance(each, type)
        )
        read = msgspec.json.Decoder(annotation).decode
    except (TypeError, NameError) as error:
        raise InvalidArgument(
            f"no payload can be read as {format_type(annotation)}: {error}"
        ) from error
    if is_unknown:
        raise InvalidArgument(
            f"no payload can be read as {format_type(annotation)}: annotate bytes, str, a JSON type, a dataclass, "
            "a TypedDict, a msgspec Struct or a pydantic model"
        )

    def decode(content: bytes) -> Any:
        try:
            return read(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidPayload(
                f"payload does not match {format_type(annotation)}: {error}"
            ) from None

    return decode


def pydantic_decoder(annotation: Any) -> Decode:
    """Create a JSON reader for pydantic models. The program that annotates with a model has imported pydantic."""
    pydantic = sys.modules["pydantic"]
    read = pydantic.TypeAdapter(annotation).validate_json

    def decode(content: bytes) -> Any:
        try:
            return read(content)
        except pydantic.ValidationError as error:
            problems = ", ".join(
                f"{each['msg']} at {'.'.join(map(str, each['loc'])) or 'the top'}"
                for each in error.errors(include_url=False, include_input=False)
            )
            raise InvalidPayload(
                f"payload does not match {format_type(annotation)}: {problems}"
            ) from None

    return decode


def is_custom(annotation: type) -> bool:
    """Return whether msgspec does not know this type."""
    return isinstance(msgspec.inspect.type_info(annotation), msgspec.inspect.CustomType)


def is_pydantic(annotation: Any) -> bool:
    """Return whether this type is a pydantic model."""
    return "pydantic" in sys.modules and hasattr(annotation, "__pydantic_validator__")


def type_parts(annotation: Any) -> Iterator[Any]:
    """Yield a type and all types inside."""
    yield annotation
    for each in get_args(annotation):
        yield from type_parts(each)


def format_type(annotation: Any) -> str:
    """Format a type as people write it."""
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
