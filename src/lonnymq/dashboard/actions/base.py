"""The base of all actions: an action previews its effect, acts, and reports the result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic

from psycopg import AsyncConnection

from lonnymq.client._async.connections import execute
from lonnymq.client.call import Call
from lonnymq.dashboard.errors import not_found
from lonnymq.dashboard.queues import Row, fetch
from lonnymq.dashboard.request import Body, SomeBody, Text


@dataclass(frozen=True, slots=True)
class ActionContext:
    """The open transaction in which an action runs."""

    connection: AsyncConnection[Any]
    schema: str

    async def call(self, call: Call[Any]) -> Any:
        """Call a function of the queue."""
        return await execute(self.connection, call, prepare=False)

    async def call_on(self, subject: str, call: Call[Any], message: str) -> ActionResult:
        """Call a function that does the whole action on a thing that must exist."""
        answer = await self.call(call)
        require_found(answer)
        return ActionResult(message, answer, subject)

    async def rows(self, sql: str, parameters: dict[str, Any]) -> list[Row]:
        """Read rows."""
        return await fetch(self.connection, self.schema, sql, parameters)


@dataclass(frozen=True, slots=True)
class Preview:
    """What an action will do."""

    message: str
    count: int = 1
    at_least: bool = False
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What an action did, and to what."""

    message: str
    answer: str
    subject: str
    count: int = 1
    more: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)


class Action(ABC, Generic[SomeBody]):
    """An action. With `needs_trial` the preview runs the action and rolls it back."""

    body: type[SomeBody]
    needs_trial = False

    @abstractmethod
    async def preview(self, context: ActionContext, body: SomeBody) -> Preview:
        """Say what the action will do."""

    @abstractmethod
    async def run(self, context: ActionContext, body: SomeBody) -> ActionResult:
        """Do it."""


class ChannelBody(Body):
    """The channel to act on."""

    channel: Text


def require_found(answer: str) -> None:
    """Reject to act on a thing that does not exist."""
    if answer == "not_found":
        raise not_found("The thing does not exist any more.", "Load the page again.")


def format_messages(count: int, state: str = "") -> str:
    """A number of messages in words: `3 running messages`."""
    words = f"{state} message" if state else "message"
    return f"1 {words}" if count == 1 else f"{count:,} {words}s"
