"""Handlers by kind: what a function takes, how its payload is read, and how often it is tried."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin, get_type_hints

from lonnymq.client.arguments import Duration, milliseconds, optional
from lonnymq.client.arguments import name as checked_name
from lonnymq.errors import InvalidArgument
from lonnymq.worker.context import Context, Contexts, SyncContext, SyncContexts
from lonnymq.worker.payloads import Decode, decoder

Function = Callable[..., Any]
ANY = "*"
CONTEXTS = (Context, SyncContext, Contexts, SyncContexts)


@dataclass(frozen=True, slots=True, eq=False)
class Handler:
    """One function and what was said of it when it was registered."""

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

    @property
    def title(self) -> str:
        """What it is called in logs."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def retry_ms(self, attempt: int) -> int | None:
        """How long to wait after this attempt; None: as the channel says."""
        if not self.retry_delays_ms:
            return None
        delay = self.retry_delays_ms[min(attempt, len(self.retry_delays_ms)) - 1]
        return round(delay * (1 + self.retry_jitter * random.random()))  # noqa: S311 - spreads load


class Handlers:
    """The registered handlers."""

    def __init__(self) -> None:
        self.by_kind: dict[str | None, Handler] = {}

    def __iter__(self) -> Iterator[Handler]:
        return iter(self.by_kind.values())

    def __len__(self) -> int:
        return len(self.by_kind)

    def get(self, kind: str | None) -> Handler | None:
        """The handler of a kind, else that of any kind."""
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
    ) -> None:
        """Register a function for a kind; a kind has one."""
        optional(checked_name, "kind", kind)
        if kind in self.by_kind:
            raise InvalidArgument(
                f"kind {kind!r} has a handler: {self.by_kind[kind].title}; a kind has one"
            )
        for what, value in (("batch", batch), ("max_attempts", max_attempts)):
            if value is not None and (not isinstance(value, int) or value < 1):
                raise InvalidArgument(f"{what} must be a whole number from 1, not {value!r}")
        is_async = is_coroutine_function(function)
        if timeout_ms is not None and not is_async:
            raise InvalidArgument("timeout_ms is for async handlers: a thread cannot be stopped")
        annotation, takes_payload, takes_context = taken(function, batch)
        self.by_kind[kind] = Handler(
            function=function,
            kind=kind,
            is_async=is_async,
            batch=batch,
            decode=decoder(annotation) if takes_payload else None,
            takes_context=takes_context,
            retry_delays_ms=tuple(
                milliseconds("retry_delays_ms", each) for each in retry_delays_ms
            ),
            retry_jitter=retry_jitter,
            max_attempts=max_attempts,
            timeout_ms=optional(milliseconds, "timeout_ms", timeout_ms),
        )


def is_coroutine_function(function: Function) -> bool:
    """Whether calling it gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - of an object whose __call__ is async
    )


def taken(function: Function, batch: int | None) -> tuple[Any, bool, bool]:
    """What a function takes: the payload's annotation, whether it wants the payload, whether the context."""
    hints = hints_of(function)
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
            f"a handler takes the payload and, if it likes, the context: {function!r} takes {len(kinds)}"
        )
    annotation = kinds[0] if kinds else None
    if batch is not None and annotation is not None:
        annotation = item_of(function, annotation)
    return annotation, bool(kinds), len(kinds) == 2


def hints_of(function: Function) -> dict[str, Any]:
    """The annotations, with those that are strings resolved."""
    try:
        target = function if inspect.isroutine(function) else type(function).__call__
        return get_type_hints(target, include_extras=True)
    except NameError as error:
        raise InvalidArgument(
            f"an annotation of {function!r} cannot be resolved: {error}; "
            "define the type at the top of its module, before the handler"
        ) from error


def item_of(function: Function, annotation: Any) -> Any:
    """The type of one payload of a batch."""
    if get_origin(annotation) is not list:
        raise InvalidArgument(
            f"a handler of batches takes a list of payloads, list[…]: {function!r}"
        )
    return get_args(annotation)[0]


def is_context(annotation: Any) -> bool:
    """Whether an annotation is one of the contexts."""
    return isinstance(annotation, type) and issubclass(annotation, CONTEXTS)
