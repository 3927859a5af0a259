"""The options of the format `lonnymq`: what each means, what it may be, and which operations take it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lonnymq.errors import InvalidArgument

Operation = Literal["read", "write", "stream read", "stream write"]
ALL: tuple[Operation, ...] = ("read", "write", "stream read", "stream write")
READS: tuple[Operation, ...] = ("read", "stream read")
WRITES: tuple[Operation, ...] = ("write", "stream write")
DURATION = re.compile(r"(\d+)\s*(ms|s|m|h|d)?")
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
# Said to Spark and handed on by it: none of the queue's business.
SPARKS = {"checkpointlocation", "queryname", "outputmode", "mergeschema"}


def text(value: str) -> str:
    """Any text but an empty one."""
    if not value:
        raise ValueError("must not be empty")
    return value


def address(value: str, *, user: str | None = None, password: str | None = None) -> str:
    """An address that libpq can read."""
    from lonnymq.spark.address import address_of

    return address_of(value, user=user, password=password)


def queue(value: str) -> str:
    """The name of a schema."""
    from lonnymq.client.call import schema_name

    return schema_name(value)


def count(value: str) -> int:
    """A whole number from 1 on."""
    if not value.isdigit() or int(value) < 1:
        raise ValueError("must be a whole number from 1 on")
    return int(value)


def version(value: str) -> int:
    """A whole number from 0 on."""
    if not value.isdigit() or int(value) >= 2**63:
        raise ValueError("must be a whole number from 0 on")
    return int(value)


def boolean(value: str) -> bool:
    """Yes or no."""
    if value.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return value.lower() == "true"


def duration(value: str) -> int:
    """A time in milliseconds, written as a number of them or with a unit."""
    found = DURATION.fullmatch(value.strip())
    if not found:
        raise ValueError("must be milliseconds, or a number with ms, s, m, h or d, such as 30s")
    return int(found[1]) * UNITS[found[2] or "ms"]


def lease(value: str) -> int:
    """A time for which a message can be leased."""
    found = duration(value)
    if not 100 <= found <= 30 * UNITS["d"]:
        raise ValueError("must be from 100ms to 30d")
    return found


def pattern(value: str) -> str:
    """A regular expression as Python reads it."""
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"must be a regular expression: {error}") from error
    return value


def names(value: str) -> tuple[str, ...]:
    """Names with commas between them."""
    found = tuple(part.strip() for part in value.split(",") if part.strip())
    if not found:
        raise ValueError("must be names with commas between them")
    return found


def beginning(value: str) -> str:
    """Where a new stream begins: a queue knows but one place."""
    if value.lower() != "earliest":
        raise ValueError(
            "can only be earliest: what waits in a queue waits to be taken, and what a stream passed over nobody "
            "would take. To begin with what comes from now on, purge the channels first, or give the stream "
            "channels of its own with subscribe"
        )
    return "earliest"


def one_of(*allowed: str) -> Callable[[str], str]:
    """A reader of one of these words."""

    def read(value: str) -> str:
        if value.lower() not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return value.lower()

    return read


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its name as people write it, its meaning, its reader, its default, and who takes it."""

    name: str
    meaning: str
    read: Callable[[str], Any]
    default: Any
    taken_by: tuple[Operation, ...]


TABLES = ("messages", "history", "channels")
OPTIONS: tuple[Option, ...] = (
    Option("url", "the database: postgresql://user@host/database", address, None, ALL),
    Option("user", "the user, if the url names none", text, None, ALL),
    Option("password", "the password, if the url has none", text, None, ALL),
    Option("schema", "the queue: the schema that it is installed in", queue, "lonnymq", ALL),
    Option("path", "what to read: messages, history or channels", one_of(*TABLES), None, READS),
    Option("table", "the same, for those who give no path", one_of(*TABLES), None, READS),
    Option(
        "numPartitions",
        "so many tasks read at once; a batch has one for each 32 MiB",
        count,
        4,
        READS,
    ),
    Option("includeContent", "whether to read the content column", boolean, True, READS),
    Option(
        "pushDownPredicate",
        "let PostgreSQL filter channel, kind and time",
        boolean,
        False,
        ("read",),
    ),
    Option(
        "snapshotTimeout",
        "so long after its last task a snapshot of messages is kept",
        duration,
        300_000,
        ("read",),
    ),
    Option(
        "stream", "the name of the stream, whose claims are durable", text, None, ("stream read",)
    ),
    Option("subscribe", "channels, with commas between", names, None, ("stream read",)),
    Option("subscribePattern", "channels that match this", pattern, None, ("stream read",)),
    Option("maxMessagesPerTrigger", "at most so many a batch", count, 10_000, ("stream read",)),
    Option(
        "startingOffsets",
        "what a new stream begins with: earliest, for what waits in a queue waits to be taken",
        beginning,
        "earliest",
        ("stream read",),
    ),
    Option(
        "leaseDuration",
        "so long after its query was last heard of a claim is given back",
        lease,
        600_000,
        ("stream read",),
    ),
    Option(
        "claimTimeout",
        "so long after it was made a claim is given back, though its query lives; 0: never",
        duration,
        0,
        ("stream read",),
    ),
    Option(
        "failOnLeaseLost",
        "end the query when a claim was given back",
        boolean,
        True,
        ("stream read",),
    ),
    Option(
        "commitMode",
        "staged: all rows in one transaction, once; direct: each task for itself, fast",
        one_of("staged", "direct"),
        "staged",
        WRITES,
    ),
    Option("txnAppId", "who writes: with a version, what is written once", text, None, WRITES),
    Option(
        "txnVersion", "which write it is; a stream's batch id says it", version, None, ("write",)
    ),
    Option(
        "rejects",
        "a table for the rows that the queue refuses; without one they are only counted",
        text,
        None,
        WRITES,
    ),
    Option("failOnReject", "write nothing if a row is refused", boolean, False, WRITES),
)
BY_NAME = {option.name.lower(): option for option in OPTIONS}


@dataclass(frozen=True)
class Options:
    """What was asked for, read and checked; shows no address, which may hold a password."""

    values: Mapping[str, Any] = field(repr=False)
    given: frozenset[str]

    def __getitem__(self, name: str) -> Any:
        return self.values[name.lower()]

    @property
    def url(self) -> str:
        """The address of the database, with user and password."""
        return str(self.values["url"])

    @property
    def schema(self) -> str:
        """The queue's schema."""
        return str(self.values["schema"])

    @property
    def table(self) -> str | None:
        """What to read."""
        table: str | None = self.values["path"] or self.values["table"]
        return table


def read_options(given: Mapping[str, str], *operations: Operation) -> Options:
    """Read the options of one of these operations; raises at what is unknown, not taken, or not allowed."""
    lowered = {key.lower(): value for key, value in given.items()}
    said = {key: value for key, value in lowered.items() if key not in SPARKS}
    refuse_unknown(said, operations)
    values = {key: option.default for key, option in BY_NAME.items()}
    for key, value in said.items():
        values[key] = read_one(BY_NAME[key], value)
    if "url" not in said:
        raise InvalidArgument('the option url is needed: .option("url", "postgresql://…")')
    values["url"] = address(said["url"], user=values["user"], password=values["password"])
    return Options(values, frozenset(said))


def refuse_unknown(said: Mapping[str, str], operations: tuple[Operation, ...]) -> None:
    """Raise at an option that the operations do not take, with those that they do."""
    known = sorted(option.name for option in OPTIONS if {*operations} & {*option.taken_by})
    wrong = sorted(key for key in said if key not in map(str.lower, known))
    if wrong:
        named = ", ".join(BY_NAME[key].name if key in BY_NAME else key for key in wrong)
        raise InvalidArgument(
            f"unknown option for a {' or '.join(operations)}: {named}; known are {', '.join(known)}"
        )


def read_one(option: Option, value: str) -> Any:
    """An option's value; raises with its name at one that is not allowed."""
    try:
        return option.read(value)
    except ValueError as error:
        shown = "" if option.name in ("url", "password") else f", not {value!r}"
        raise InvalidArgument(f"the option {option.name} {error}{shown}") from None
