"""What can be done to a queue: each deed says what it will do, does it, and says what it did."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from psycopg import AsyncConnection

from lonnymq.client import calls
from lonnymq.client._async.connections import execute
from lonnymq.client.call import Call
from lonnymq.dashboard.bodies import id_from, text_in
from lonnymq.dashboard.problems import Problem, invalid, not_found
from lonnymq.dashboard.queues import Row, fetch
from lonnymq.dashboard.schemas import POLICY

STATS = "select * from {schema}.channel_stats(%(name)s)"
SHOW = "select * from {schema}.message_show(%(id)s, 0)"
MOST = 10_000
LONGEST_VALUE = 60


@dataclass(frozen=True, slots=True)
class Hand:
    """Where a deed is done: in an open transaction of a queue."""

    connection: AsyncConnection[Any]
    schema: str

    async def call(self, call: Call[Any]) -> Any:
        """Call a function of the queue."""
        return await execute(self.connection, call, prepare=False)

    async def done(self, call: Call[Any], did: str, subject: str) -> Did:
        """Call a function that does all of a deed to something that is there."""
        answer = await self.call(call)
        refuse_unknown(answer)
        return Did(did, answer, subject)

    async def rows(self, sql: str, parameters: dict[str, Any]) -> list[Row]:
        """Read rows."""
        return await fetch(self.connection, self.schema, sql, parameters)


@dataclass(frozen=True, slots=True)
class Will:
    """What will happen."""

    will: str
    count: int = 1
    at_least: bool = False
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Did:
    """What happened, and to what."""

    did: str
    answer: str
    subject: str
    count: int = 1
    more: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)


class Deed(ABC):
    """Something that can be done. One that is tried is done for its preview as well, and undone."""

    body: tuple[str, ...] = ("channel",)
    is_tried = False

    @abstractmethod
    async def preview(self, hand: Hand, body: dict[str, Any]) -> Will:
        """Say what will happen."""

    @abstractmethod
    async def do(self, hand: Hand, body: dict[str, Any]) -> Did:
        """Do it."""


class Pause(Deed):
    """Stops a channel."""

    async def preview(self, hand: Hand, body: dict[str, Any]) -> Will:
        """How many messages will be held back."""
        row = await channel(hand, text_in(body, "channel"))
        warning = "It is paused already." if row["paused"] else None
        return Will(
            f"{messages(row['waiting'])} will not be handed out until the channel is resumed. "
            f"{row['leased']} that are running go on.",
            row["waiting"],
            at_least=not row["counted_exactly"],
            warning=warning,
        )

    async def do(self, hand: Hand, body: dict[str, Any]) -> Did:
        """Stop it."""
        name = text_in(body, "channel")
        return await hand.done(
            calls.channel_pause(hand.schema, name), "The channel is paused.", name
        )


class Resume(Deed):
    """Lets a channel go on."""

    async def preview(self, hand: Hand, body: dict[str, Any]) -> Will:
        """How many messages will be handed out again."""
        row = await channel(hand, text_in(body, "channel"))
        return Will(
            f"The channel takes its turns again: {messages(row['waiting'])} may be handed out.",
            row["waiting"],
            at_least=not row["counted_exactly"],
            warning=None if row["paused"] else "It is not paused.",
        )

    async def do(self, hand: Hand, body: dict[str, Any]) -> Did:
        """Let it go on."""
        name = text_in(body, "channel")
        return await hand.done(
            calls.channel_resume(hand.schema, name), "The channel takes its turns again.", name
        )


class SetLimits(Deed):
    """Sets a channel's policy."""

    body = ("channel", "options")
    is_tried = True  # the database judges the values

    async def preview(self, hand: Hand, body: dict[str, Any]) -> Will:
        """What will change."""
        name, options = text_in(body, "channel"), options_in(body)
        row = await channel(hand, name)
        await hand.call(calls.channel_set(hand.schema, name, options))
        changes = [
            f"{word} from {said(row[word])} to {said(value)}"
            for word, value in options.items()
            if row[word] != value
        ]
        return Will(
            f"Set {', '.join(changes)}." if changes else "Nothing will change.",
            len(changes),
            warning=self.warning(row, options),
        )

    def warning(self, row: Row, options: dict[str, Any]) -> str | None:
        """What a limit means for what is there already."""
        limit = options.get("max_concurrency")
        if isinstance(limit, int) and limit < row["in_flight"]:
            return f"{row['in_flight']} are running: none starts until fewer than {limit} are."
        return None

    async def do(self, hand: Hand, body: dict[str, Any]) -> Did:
        """Set it."""
        name, options = text_in(body, "channel"), options_in(body)
        answer = await hand.call(calls.channel_set(hand.schema, name, options))
        return Did("The limits are set.", answer, name, parameters={"options": options})


class Cancel(Deed):
    """Deletes a message that nobody works on."""

    body = ("id",)

    async def preview(self, hand: Hand, body: dict[str, Any]) -> Will:
        """Which message will be gone."""
        number = id_from(body.get("id"))
        rows = await hand.rows(SHOW, {"id": number})
        if not rows:
            raise not_found(f"Message {number} is not here.")
        warning = None
        if rows[0]["leased"]:
            warning = "A worker has it: it cannot be cancelled now."
        elif rows[0]["died_at"] is not None:
            warning = "It is dead: purge it there."
        return Will(f"Message {number} will be deleted and never handed out.", 1, warning=warning)

    async def do(self, hand: Hand, body: dict[str, Any]) -> Did:
        """Delete it."""
        number = id_from(body.get("id"))
        answer = await hand.call(calls.message_cancel(hand.schema, number))
        refuse_unknown(answer)
        if answer != "cancelled":
            raise Problem("conflict", NOT_CANCELLED[answer], advice="Look at the message again.")
        return Did(f"Message {number} is cancelled.", answer, str(number))


class Purge(Deed):
    """Deletes a channel's waiting messages."""

    async def preview(self, hand: Hand, body: dict[str, Any]) -> Will:
        """How many will be gone."""
        row = await channel(hand, text_in(body, "channel"))
        count = row["waiting"] + row["scheduled"]
        return Will(
            f"{messages(count)} that wait in the channel will be deleted for good, scheduled ones too. "
            f"{row['leased']} that are running go on.",
            count,
            at_least=not row["counted_exactly"],
            warning="This cannot be undone.",
        )

    async def do(self, hand: Hand, body: dict[str, Any]) -> Did:
        """Delete up to ten thousand of them."""
        name = text_in(body, "channel")
        count = await hand.call(calls.message_purge(hand.schema, name, limit=MOST))
        return Did(f"{messages(count)} deleted.", "purged", name, count, more=count == MOST)


async def channel(hand: Hand, name: str) -> Row:
    """A channel that is meant."""
    rows = await hand.rows(STATS, {"name": name})
    if not rows:
        raise not_found("There is no such channel.")
    return rows[0]


def refuse_unknown(answer: str) -> None:
    """What is not there cannot be acted on."""
    if answer == "not_found":
        raise not_found("It is not there any more.", "Load the page again.")


def options_in(body: dict[str, Any]) -> dict[str, Any]:
    """The limits that were given."""
    options = body.get("options")
    if not isinstance(options, dict) or not options:
        raise invalid("'options' is to be an object with what is to change.")
    for name in options:
        if name not in POLICY:
            raise invalid(f"There is no option like that. There are {', '.join(POLICY)}.")
    return options


def messages(count: int) -> str:
    """So many messages, in words."""
    return "1 message" if count == 1 else f"{count:,} messages"


def said(value: Any) -> str:
    """A limit, in words."""
    return "none" if value is None else str(value)[:LONGEST_VALUE]


NOT_CANCELLED = {
    "leased": "A worker has it.",
    "busy": "Somebody is changing it.",
    "dead": "It is dead: purge it there.",
}
