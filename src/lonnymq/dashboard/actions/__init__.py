"""The actions of the dashboard: an action previews its effect, acts, and reports the result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from lonnymq.dashboard.access import Role
from lonnymq.dashboard.errors import not_found
from lonnymq.dashboard.queues import Function, QueueTransaction
from lonnymq.dashboard.request import Body


@dataclass(frozen=True, slots=True)
class Preview:
    """What an action will do. With `bound` in the body, the action touches nothing that came after the preview."""

    message: str
    count: int = 1
    at_least: bool = False
    warning: str | None = None
    bound: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What an action did, and to what."""

    message: str
    answer: str
    subject: str
    count: int = 1
    more: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)


Run = Callable[[QueueTransaction, Any], Awaitable[ActionResult]]


class ActionBody(Body):
    """The body of an action, which knows the channels that the action changes."""

    async def find_channels(self, transaction: QueueTransaction) -> Iterable[str | None]:
        """The channels in which the user needs the role of the action. None is the whole queue."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Action:
    """An action. With `needs_trial` the preview runs the action and rolls it back."""

    about: str
    body: type[ActionBody]
    preview: Callable[[QueueTransaction, Any], Awaitable[Preview]]
    run: Run
    needs_trial: bool = False
    role: Role = Role.ACT


def call_on_subject(function: Function, done: str) -> Run:
    """The run of an action that one function does, on a thing that must exist."""

    async def run(transaction: QueueTransaction, body: Any) -> ActionResult:
        answer = await transaction.call(function, body.subject)
        require_found(answer)
        return ActionResult(done, answer, body.subject)

    return run


def require_found(answer: str) -> None:
    """Reject to act on a thing that does not exist."""
    if answer == "not_found":
        raise not_found(
            "What you wanted to change does not exist any more.", "Load the page again."
        )


def format_messages(count: int, state: str = "") -> str:
    """A number of messages in words: `3 running messages`."""
    words = f"{state} message" if state else "message"
    return f"1 {words}" if count == 1 else f"{count:,} {words}s"
