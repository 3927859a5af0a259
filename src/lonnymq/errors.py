"""What the queue refuses and why: an exception for each SQLSTATE, never told by a text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


class LonnyMQError(Exception):
    """Something about the queue went wrong; catch this to catch all of them."""


class InvalidArgument(LonnyMQError, ValueError):
    """A value is of the wrong type or out of range: the text says what is allowed; nothing is stored."""


class TooLarge(LonnyMQError):
    """Over a limit: keep big payloads elsewhere and send a reference, or split the batch."""


class InTransaction(LonnyMQError):
    """Dequeue needs a transaction of its own: give the Queue a DSN or a pool, or commit first."""


class WrongIsolation(LonnyMQError):
    """Dequeue needs READ COMMITTED: begin the transaction so, or give the Queue a DSN."""


class AboveHorizon(LonnyMQError):
    """The slice reaches open transactions: read only up to what `history_horizon` answers."""


class SchemaNewer(LonnyMQError):
    """A later version of the library installed this queue: upgrade the library."""


class NotAllowed(LonnyMQError):
    """This login is confined to other channels: an admin changes that with `producer_confine`."""


class RolesMissing(LonnyMQError):
    """Whoever installs may not make the queue's roles: have somebody run what the text says, and install again."""


class StreamFenced(LonnyMQError):
    """Another query has opened the stream since: let that one go on, or give this one a stream of its own."""


class InstallBlocked(LonnyMQError):
    """A transaction holds a table of the queue for long: `lonnymq doctor` shows which; end it and install again."""


class NotInstalled(LonnyMQError):
    """The schema lacks the queue or part of it: call `queue.install()`, or run the script."""


class Unreachable(LonnyMQError):
    """The database does not answer a process of Spark's: the text says where it was looked for and what came back."""


class EmbeddedUnavailable(LonnyMQError):
    """The embedded PostgreSQL did not start: the text says what is missing, or shows the end of the server's log."""


class StageLost(LonnyMQError):
    """Rows that were staged for a load are gone, as after a crash of the server: load them again."""


class BadSchemaName(InvalidArgument):
    """A schema name is 1 to 48 of a-z, 0-9 and _, and does not begin with a digit or with `pg_`."""


class UnknownConnection(InvalidArgument):
    """This is no connection that can be used here: the text lists those that can."""


class ChannelFull(LonnyMQError):
    """The channel is at its `max_size`: create later, raise it, or set `when_full='drop'`."""

    def __init__(self, channel: str, *, size: int | None, max_size: int | None) -> None:
        super().__init__(f"channel {channel!r} is full: {size} of {max_size}")
        self.channel, self.size, self.max_size = channel, size, max_size


class ChannelReleasing(LonnyMQError):
    """The channel is being retired: use another, or create again once it has drained."""

    def __init__(self, channel: str) -> None:
        super().__init__(f"channel {channel!r} is being released and takes no new messages")
        self.channel = channel


BY_SQLSTATE: dict[str, type[LonnyMQError]] = {
    "LM001": InvalidArgument,
    "LM002": TooLarge,
    "LM003": InTransaction,
    "LM004": WrongIsolation,
    "LM005": AboveHorizon,
    "LM006": SchemaNewer,
    "LM007": NotAllowed,
    "LM008": RolesMissing,
    "LM009": StreamFenced,
    "LM010": StageLost,
    "3F000": NotInstalled,
    "42883": NotInstalled,
    "42P01": NotInstalled,
}


def chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it wraps: SQLAlchemy keeps the driver's in `orig`, Django and its kin as the cause."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = getattr(current, "orig", None) or current.__cause__


def sqlstate_of(error: BaseException) -> str | None:
    """The SQLSTATE that an error of any driver carries, itself or in what it wraps."""
    return next(
        (code for each in chain(error) if isinstance(code := getattr(each, "sqlstate", None), str)),
        None,
    )


def said_by(error: BaseException) -> list[str | None]:
    """What the server said: its message, detail and hint, however the driver keeps them."""
    for each in chain(error):
        diagnosis = getattr(each, "diag", None)
        if diagnosis is not None:  # psycopg
            return [diagnosis.message_primary, diagnosis.message_detail, diagnosis.message_hint]
        if hasattr(each, "detail") and hasattr(each, "hint"):  # asyncpg
            return [each.args[0], each.detail, each.hint]
    return [str(error)]


def translate(error: BaseException) -> LonnyMQError | None:
    """The queue's own error for a driver's error, or None when it is not about the queue."""
    kind = BY_SQLSTATE.get(sqlstate_of(error) or "")
    if kind is None:
        return None
    parts = said_by(error)
    if kind is NotInstalled:  # PostgreSQL's own error, whose hint is about another cause
        parts = [parts[0], kind.__doc__ or ""]
    return kind("; ".join(part.rstrip(".") for part in parts if part))


def raise_translated(error: Exception) -> NoReturn:
    """Raise the queue's own error in place of the driver's, with the driver's as its cause; any other as it is."""
    ours = None if isinstance(error, LonnyMQError) else translate(error)
    if ours is None:
        raise error
    raise ours from error


@contextmanager
def translated() -> Iterator[None]:
    """Raise the queue's own error in place of the driver's, with the driver's as its cause."""
    try:
        yield
    except Exception as error:
        raise_translated(error)
