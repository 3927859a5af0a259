"""`Task`: the kind and the payload type of messages, shared by the programs that create and the worker that handles."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Generic, TypeVar, Unpack, overload

from lonnymq import results
from lonnymq.client import AsyncQueue, NewMessage, Queue
from lonnymq.client._async.queue import AsyncChannel
from lonnymq.client._sync.queue import Channel
from lonnymq.client.arguments import Duration, Moment, describe_value
from lonnymq.client.arguments import name as checked_name
from lonnymq.client.calls.message import MessageLimits
from lonnymq.errors import InvalidArgument
from lonnymq.payloads import InvalidPayload, create_encoder

Payload = TypeVar("Payload")


class MessageOptions(MessageLimits, total=False):
    """The options of one message, as `queue.create` takes them."""

    delay_ms: Duration | None
    dequeue_at: Moment | None
    key: str | None
    headers: Mapping[str, Any] | None


class Task(Generic[Payload]):
    """A kind of message and the type of its payload.

    Declare the task in a module of its own, so that a web process needs nothing of the handler.
    `@worker.handler(task)` binds the handler. `@worker.task(name)` declares the task and binds the handler at once:
    then `function` is the handler.
    """

    def __init__(
        self,
        name: str,
        type: type[Payload] = bytes,  # type: ignore[assignment]  # noqa: A002 - as the reader calls it
        *,
        function: Callable[..., Any] | None = None,
    ) -> None:
        self.name, self.type, self.function = checked_name("name", name), type, function
        if name == "*":
            raise InvalidArgument("a task needs a kind of its own: '*' is only for handlers")
        try:
            self._encode = create_encoder(type)
        except InvalidArgument as error:
            raise InvalidArgument(f"task {name!r}: {error}") from error

    def __repr__(self) -> str:
        return f"Task({self.name!r}, {getattr(self.type, '__name__', self.type)})"

    def encode(self, payload: Payload) -> bytes:
        """Encode a payload and check the bytes with the type that the handler reads."""
        try:
            return self._encode(payload)
        except InvalidPayload as error:
            raise InvalidArgument(f"task {self.name!r}: {error}") from None

    def message(
        self, payload: Payload, *, channel: str | None = None, **options: Unpack[MessageOptions]
    ) -> NewMessage:
        """Describe one message of a batch, for `create_many` and `copy`."""
        return NewMessage(self.encode(payload), channel, kind=self.name, **options)

    @overload
    def create(
        self,
        target: Queue | Channel,
        payload: Payload,
        *,
        channel: str | None = None,
        group: int | None = None,
        using: Any = None,
        **options: Unpack[MessageOptions],
    ) -> results.CreateResult: ...

    @overload
    def create(
        self,
        target: AsyncQueue | AsyncChannel,
        payload: Payload,
        *,
        channel: str | None = None,
        group: int | None = None,
        using: Any = None,
        **options: Unpack[MessageOptions],
    ) -> Coroutine[Any, Any, results.CreateResult]: ...

    def create(
        self,
        target: Queue | Channel | AsyncQueue | AsyncChannel,
        payload: Payload,
        *,
        channel: str | None = None,
        group: int | None = None,
        using: Any = None,
        **options: Unpack[MessageOptions],
    ) -> results.CreateResult | Coroutine[Any, Any, results.CreateResult]:
        """Add a message of this task to a channel, or to a queue with `channel=`. Await the call on an AsyncQueue."""
        content, found = self.encode(payload), self._channel(target, channel)
        return found.create(content, kind=self.name, group=group, using=using, **options)

    @overload
    def create_many(
        self,
        target: Queue | Channel,
        payloads: Iterable[Payload | NewMessage],
        *,
        channel: str | None = None,
        group: int | None = None,
        using: Any = None,
    ) -> list[results.CreateManyResult]: ...

    @overload
    def create_many(
        self,
        target: AsyncQueue | AsyncChannel,
        payloads: Iterable[Payload | NewMessage],
        *,
        channel: str | None = None,
        group: int | None = None,
        using: Any = None,
    ) -> Coroutine[Any, Any, list[results.CreateManyResult]]: ...

    def create_many(
        self,
        target: Queue | Channel | AsyncQueue | AsyncChannel,
        payloads: Iterable[Payload | NewMessage],
        *,
        channel: str | None = None,
        group: int | None = None,
        using: Any = None,
    ) -> list[results.CreateManyResult] | Coroutine[Any, Any, list[results.CreateManyResult]]:
        """Add many messages of this task in one call: payloads, or messages with options from `message`."""
        if isinstance(target, Channel | AsyncChannel):
            channel, target = self._channel(target, channel).name, target.queue
        messages = [
            each if isinstance(each, NewMessage) else self.message(each) for each in payloads
        ]
        return self._queue(target).create_many(messages, channel=channel, group=group, using=using)

    def _channel(self, target: object, channel: str | None) -> Channel | AsyncChannel:
        if isinstance(target, Channel | AsyncChannel):
            if channel not in (None, target.name):
                raise InvalidArgument(
                    f"task {self.name!r}: give the channel {target.name!r} or channel={channel!r}, not both"
                )
            return target
        queue = self._queue(target)
        if channel is None:
            raise InvalidArgument(
                f"task {self.name!r} needs a channel: "
                f"write {self.name}.create(queue.channel('acme'), payload), or pass channel='acme'"
            )
        return queue.channel(channel)

    def _queue(self, target: object) -> Queue | AsyncQueue:
        if isinstance(target, Queue | AsyncQueue):
            return target
        raise InvalidArgument(
            f"task {self.name!r}: the first argument must be a queue or a channel of a queue, "
            f"such as queue.channel('acme'), not {describe_value(target)}"
        )
