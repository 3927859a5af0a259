"""The exceptions of the queue, one for each SQLSTATE. The docstring of an exception is the advice to the user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn


class LonnyMQError(Exception):
    """The base of all exceptions of the queue."""


class InvalidArgument(LonnyMQError, ValueError):
    """A value has the wrong type or is out of range. The message says which values are allowed. Nothing is stored."""


class TooLarge(LonnyMQError):
    """Over a limit: store large payloads elsewhere and send a reference, or split the batch."""


class InTransaction(LonnyMQError):
    """Dequeue needs a transaction of its own: give the Queue a DSN or a pool, or commit first."""


class WrongIsolation(LonnyMQError):
    """Dequeue needs a READ COMMITTED transaction: change the isolation level, or give the Queue a DSN."""


class AboveHorizon(LonnyMQError):
    """This part of history reaches open transactions: read only up to the answer of `history_horizon`."""


class SchemaNewer(LonnyMQError):
    """A later version of the library installed this queue and does not serve yours any more: upgrade the library."""


class NotAllowed(LonnyMQError):
    """This login is restricted to other channels: an admin can change the channels with `producer_restrict`."""


class RolesMissing(LonnyMQError):
    """This login may not create roles: have an administrator run the statements in the message, and install again."""


class StreamFenced(LonnyMQError):
    """Another query has opened the stream: stop this query, or give this query a stream of its own."""


class InstallBlocked(LonnyMQError):
    """A transaction blocks the install: end the transaction that `lonnymq doctor` shows, and install again."""


class NotInstalled(LonnyMQError):
    """The schema lacks the queue or part of it: call `queue.install()`, or run the script."""


class Unreachable(LonnyMQError):
    """A process of Spark cannot reach the database: the message has the address and the error."""


class PoolTimeout(LonnyMQError, TimeoutError):
    """All connections of this queue are busy: raise `max_connections`, make fewer calls at once, or give a pool."""


class WaitTimeout(LonnyMQError, TimeoutError):
    """The messages have not ended in time: wait again, or ask `queue.explain` why a message does not run."""

    def __init__(self, ids: Sequence[int], seconds: float | None, state: str | None) -> None:
        which = f"message {ids[0]} has" if len(ids) == 1 else f"{len(ids)} messages have"
        shown = state if len(ids) == 1 else f"{state} for message {ids[0]}"
        super().__init__(f"{which} not ended within {seconds:g} s: the state is {shown}")
        self.ids = list(ids)


class EmbeddedUnavailable(LonnyMQError):
    """The embedded PostgreSQL did not start: the message says what is missing, or shows the end of the server's log."""


class StageLost(LonnyMQError):
    """The staged rows of a load are gone, for example after a crash of the server: load the rows again."""


class BadSchemaName(InvalidArgument):
    """A schema name is 1 to 48 of a-z, 0-9 and _, and does not begin with a digit or with `pg_`."""


class BadDsn(InvalidArgument):
    """The DSN cannot be read: write `postgresql://user@host/database` or `host=… dbname=…`. No error quotes a DSN."""


class UnknownConnection(InvalidArgument):
    """This object cannot be used as a connection: the message lists the connections that can."""


class DuplicateKey(LonnyMQError):
    """The key is taken and `when_duplicate` is `refuse`: use another key, or keep, replace or postpone the message."""


class ChannelFull(LonnyMQError):
    """The channel is at its `max_size`: create the message later, raise `max_size`, or set `when_full='drop'`."""

    def __init__(self, channel: str, *, size: int | None, max_size: int | None) -> None:
        super().__init__(f"channel {channel!r} is full: {size} of {max_size}")
        self.channel, self.size, self.max_size = channel, size, max_size


class ChannelRetiring(LonnyMQError):
    """The channel is being retired: use another channel, or create the message when the channel is empty."""

    def __init__(self, channel: str) -> None:
        super().__init__(f"channel {channel!r} is being retired and takes no new messages")
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
    "LM011": DuplicateKey,
    "3F000": NotInstalled,
    "42883": NotInstalled,
    "42P01": NotInstalled,
}


def error_chain(error: BaseException) -> Iterator[BaseException]:
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
        (
            code
            for each in error_chain(error)
            if isinstance(code := getattr(each, "sqlstate", None), str)
        ),
        None,
    )


def server_messages(error: BaseException) -> list[str | None]:
    """What the server said: its message, detail and hint, however the driver keeps them."""
    for each in error_chain(error):
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
    parts = server_messages(error)
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
