"""Handlers by kind: the arguments of a function, the type of the payload, and the handler's own retry options.

A mistake in a handler is an error at registration, with the fix in the text.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from lonnymq.client.arguments import (
    MAX_INT32,
    MAX_INT64,
    MAX_RESULT_BYTES,
    Duration,
    describe_value,
    milliseconds,
    number,
    optional,
)
from lonnymq.client.arguments import name as checked_name
from lonnymq.errors import InvalidArgument
from lonnymq.payloads import Decode, create_decoder, format_type
from lonnymq.worker.context import Context, Contexts, SyncContext, SyncContexts
from lonnymq.worker.result_bytes import DEFAULT_RESULT_BYTES

Function = Callable[..., Any]
ANY = "*"
MAX_KINDS = 1000
CONTEXTS = (Context, SyncContext, Contexts, SyncContexts)
EXAMPLE = "async def encode(video: Video, context: Context)"


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
    payload_type: Any = None

    @property
    def title(self) -> str:
        """The name of the function in logs."""
        return title_of(self.function)

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

    def served(self, asked: tuple[str | None, ...] | None) -> tuple[str | None, ...] | None:
        """Return the kinds to take: those that were asked for, or those with a handler. None is all kinds."""
        if asked is None and ANY in self.by_kind:
            return None
        wanted = self.kinds if asked is None else asked
        unknown = [each for each in wanted if self.get(each) is None]
        if unknown:
            raise InvalidArgument(
                f"kinds: the worker has no handler for {', '.join(map(repr, unknown))}: "
                "register a function with @worker.handler"
            )
        if not 1 <= len(wanted) <= MAX_KINDS:
            raise InvalidArgument(
                f"kinds: a worker takes from 1 to {MAX_KINDS} kinds, not {len(wanted)}: "
                "register a handler for '*' to take all"
            )
        return wanted

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
        payload_type: Any = None,
    ) -> Handler:
        """Register the function of a kind. `payload_type` is the type of the kind's task, if the kind has a task."""
        number(
            f"max_result_bytes must be a whole number from 0 to {MAX_RESULT_BYTES}",
            max_result_bytes,
            least=0,
            most=MAX_RESULT_BYTES,
        )
        optional(checked_name, "kind", kind)
        if kind in self.by_kind:
            raise InvalidArgument(
                f"kind {kind!r} has a handler already: {self.by_kind[kind].title}. "
                "Remove one of the two handlers, or give the new handler another kind"
            )
        check_function(function)
        for what, value in (("batch", batch), ("max_attempts", max_attempts)):
            if value is not None:
                number(f"{what} must be a whole number from 1", value, least=1, most=MAX_INT32)
        is_async = is_coroutine_function(function)
        annotation, takes_payload, takes_context = inspect_parameters(
            function, batch, is_async=is_async
        )
        handler = Handler(
            function=function,
            kind=kind,
            is_async=is_async,
            batch=batch,
            decode=create_decoder(choose_type(function, annotation, payload_type))
            if takes_payload
            else None,
            takes_context=takes_context,
            retry_delays_ms=check_delays(retry_delays_ms),
            retry_jitter=check_jitter(retry_jitter),
            max_attempts=max_attempts,
            max_result_bytes=max_result_bytes,
            timeout_ms=check_timeout(timeout_ms, is_async=is_async),
            payload_type=annotation if payload_type is None else payload_type,
        )
        self.by_kind[kind] = handler
        return handler


# The options


def check_delays(value: object) -> tuple[int, ...]:
    """Check the delays between attempts."""
    if not isinstance(value, list | tuple):
        raise InvalidArgument(
            "retry_delays_ms must be a list of milliseconds or timedeltas, such as [1_000, 60_000], "
            f"not {describe_value(value)}"
        )
    return tuple(milliseconds("retry_delays_ms", each) for each in value)


def check_jitter(value: object) -> float:
    """Check the random part of a delay."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidArgument(
            f"retry_jitter must be a number from 0 to 1, not {describe_value(value)}"
        )
    return float(value)


def check_timeout(value: Duration | None, *, is_async: bool) -> int | None:
    """Check the maximum run time."""
    if value is None:
        return None
    if not is_async:
        raise InvalidArgument(
            "timeout_ms needs an async handler, because a thread cannot be stopped. "
            "Declare the handler with async def, pass a time limit to the calls inside the handler, or run the work "
            "in a subprocess with subprocess.run(…, timeout=…)"
        )
    checked = milliseconds("timeout_ms", value)
    return number("timeout_ms must be from 1 ms", checked, least=1, most=MAX_INT64)


# The function


def check_function(function: Function) -> None:
    """Raise if a handler is no function that can be called for a message."""
    if not callable(function) or isinstance(function, type | staticmethod):
        hint = (
            ". Put @staticmethod above @worker.handler"
            if isinstance(function, staticmethod)
            else ""
        )
        raise InvalidArgument(
            f"a handler is a function, such as {EXAMPLE}, not {describe_value(function)}{hint}"
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidArgument(
            f"a handler cannot be a generator: {title_of(function)} contains yield, so that a call runs nothing. "
            "Remove yield, or move the generator into a function that the handler calls"
        )


def choose_type(function: Function, annotation: Any, payload_type: Any) -> Any:
    """Return the type of the payload: of the task, else of the annotation. Both must be the same."""
    if payload_type is None or annotation is None or annotation == payload_type:
        return annotation if payload_type is None else payload_type
    raise InvalidArgument(
        f"the task has payloads of {format_type(payload_type)}, but {title_of(function)} takes "
        f"{format_type(annotation)}: annotate the payload as {format_type(payload_type)}"
    )


def is_coroutine_function(function: Function) -> bool:
    """Return whether a call returns an awaitable."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - of an object whose __call__ is async
    )


def inspect_parameters(
    function: Function, batch: int | None, *, is_async: bool
) -> tuple[Any, bool, bool]:
    """Return the payload's annotation, whether the function takes the payload, and whether it takes the context."""
    hints = resolve_annotations(function)
    parameters = list(inspect.signature(function).parameters.values())
    check_parameters(function, parameters)
    wanted = [
        each
        for each in parameters
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        and (each.default is each.empty or is_context(hints.get(each.name)))
    ]
    kinds = [hints.get(each.name) for each in wanted]
    check_order(function, kinds)
    if kinds and is_context(kinds[-1]):
        check_context(function, kinds[-1], batch, is_async=is_async)
    if len(kinds) == 1 and is_context(kinds[0]):
        return None, False, True
    annotation = kinds[0] if kinds else None
    if batch is not None and annotation is not None:
        annotation = batch_item_type(function, annotation)
    return annotation, bool(kinds), len(kinds) == 2


def check_parameters(function: Function, parameters: Sequence[inspect.Parameter]) -> None:
    """Raise if a parameter is of a sort that a call does not fill."""
    title = title_of(function)
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and each.default is each.empty:
            raise InvalidArgument(
                f"the parameter {each.name} of {title} can only be passed by name: "
                "remove the * before the parameter, because a handler is called with positions"
            )
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) and len(parameters) <= 2:
            raise InvalidArgument(
                f"{title} takes {each}: name the payload and the context, such as {EXAMPLE}. "
                "If a decorator wraps the handler, let the decorator use functools.wraps"
            )
    if parameters and parameters[0].name in ("self", "cls") and inspect.isfunction(function):
        raise InvalidArgument(
            f"{title} is a method without its object: "
            "create the object, and register its method with worker.handler(kind)(object.method)"
        )


def check_order(function: Function, kinds: Sequence[Any]) -> None:
    """Raise unless the parameters are the payload and then the context."""
    title = title_of(function)
    if len(kinds) > 2:
        raise InvalidArgument(
            f"a handler takes the payload and optionally the context, but {title} takes {len(kinds)} arguments. "
            "Put the values of the payload into one dataclass"
        )
    if len(kinds) == 2 and is_context(kinds[0]):
        raise InvalidArgument(
            f"a handler takes the payload and optionally the context, in this order: "
            f"swap the parameters of {title}"
        )
    if len(kinds) == 2 and kinds[1] is not None and not is_context(kinds[1]):
        raise InvalidArgument(
            f"{title} takes two payloads, but a message has one: put both into one dataclass. "
            f"The second parameter is the context and is annotated as Context or SyncContext, "
            f"not {format_type(kinds[1])}"
        )


def check_context(
    function: Function, annotation: Any, batch: int | None, *, is_async: bool
) -> None:
    """Raise if the annotated class of context is not the class that the function gets."""
    wanted = (
        (Context if is_async else SyncContext)
        if batch is None
        else (Contexts if is_async else SyncContexts)
    )
    if wanted not in (annotation, *get_args(annotation)):
        sort = "an async function" if is_async else "a plain function"
        raise InvalidArgument(
            f"{title_of(function)} is {sort} {'with' if batch else 'without'} batch and gets {wanted.__name__}: "
            f"annotate the context as {wanted.__name__}, not {format_type(annotation)}"
        )


def title_of(function: Function) -> str:
    """Return the name of a function as people know the function."""
    return getattr(function, "__qualname__", type(function).__name__)


def resolve_annotations(function: Function) -> dict[str, Any]:
    """Return the annotations, with strings resolved."""
    try:
        target = function if inspect.isroutine(function) else type(function).__call__
        return get_type_hints(target, include_extras=True)
    except NameError as error:
        raise InvalidArgument(
            f"an annotation of {title_of(function)} cannot be resolved: {error}. "
            "Define the type at the top of the module, before the handler"
        ) from error


def batch_item_type(function: Function, annotation: Any) -> Any:
    """Return the type of one payload of a batch."""
    if annotation is list or get_origin(annotation) is not list:
        raise InvalidArgument(
            f"a batch handler takes a list of payloads: "
            f"annotate the first parameter of {title_of(function)} as list[…], such as list[Video]"
        )
    return get_args(annotation)[0]


def is_context(annotation: Any) -> bool:
    """Return whether an annotation is a context class, or one or None."""
    if get_origin(annotation) in (Union, UnionType):
        return any(map(is_context, get_args(annotation)))
    return isinstance(annotation, type) and issubclass(annotation, CONTEXTS)
