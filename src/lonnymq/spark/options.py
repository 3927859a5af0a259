"""The options of the format `lonnymq`: description, type, default, and the operations that accept each."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lonnymq.errors import InvalidArgument

Operation = Literal["read", "write", "stream read", "stream write"]
ALL: tuple[Operation, ...] = ("read", "write", "stream read", "stream write")
READS: tuple[Operation, ...] = ("read", "stream read")
WRITES: tuple[Operation, ...] = ("write", "stream write")
STREAM: tuple[Operation, ...] = ("stream read",)
URL_PREFIXES = ("postgresql://", "postgres://")
DURATION = re.compile(r"(\d+)\s*(ms|s|m|h|d)?")
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
# Options of Spark itself, which Spark passes on to every source and sink.
SPARK_OPTIONS = {"checkpointlocation", "queryname", "outputmode", "mergeschema"}
DSN_VARIABLE = (
    "LONNYMQ_DSN"  # as for the command line; read on the driver, and never sent as an option
)
URL_ADVICE = (
    f'add .option("url", "postgresql://…"), or set the variable {DSN_VARIABLE} where Spark starts. '
    "In SQL, use create temporary view … using lonnymq options (…), "
    "because Spark does not pass on the options of a table in its catalog"
)
TABLE_ADVICE = (
    "name the columns of a table in Spark's catalog, such as "
    "create table orders (channel string, content binary) using lonnymq, "
    "or use create temporary view … using lonnymq options (…)"
)


def parse_text(value: str) -> str:
    """Any text that is not empty."""
    if not value:
        raise ValueError("must not be empty")
    return value


def parse_url(url: str, *, user: str | None = None, password: str | None = None) -> str:
    """An address for libpq, with the user and password if given separately. No error shows the password."""
    if url.startswith("jdbc:"):
        raise ValueError("must not begin with jdbc: write postgresql://user@host/database")
    from psycopg.conninfo import make_conninfo

    from lonnymq.client.dsn import DRIVER, read_dsn

    url = DRIVER.sub(r"\1", url, count=1)
    if not url.startswith(URL_PREFIXES) and "=" not in url:
        raise ValueError("must look like postgresql://user@host/database")
    try:
        read_dsn(url)
    except InvalidArgument:
        raise ValueError(
            "cannot be parsed: in postgresql://user:password@host/database, "
            "write the characters % : / @ # as %25 %3A %2F %40 %23"
        ) from None
    separate = {key: value for key, value in (("user", user), ("password", password)) if value}
    return make_conninfo(url, **separate) if separate else url


def parse_schema(value: str) -> str:
    """The name of a schema."""
    from lonnymq.client.call import schema_name

    return schema_name(value)


def parse_count(value: str) -> int:
    """A whole number of at least 1."""
    if not value.isdigit() or int(value) < 1:
        raise ValueError("must be a whole number of at least 1")
    return int(value)


def parse_version(value: str) -> int:
    """A whole number of at least 0."""
    if not value.isdigit() or int(value) >= 2**63:
        raise ValueError("must be a whole number of at least 0")
    return int(value)


def parse_boolean(value: str) -> bool:
    """True or false."""
    if value.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return value.lower() == "true"


def parse_duration(value: str) -> int:
    """Milliseconds, from a number of milliseconds or a number with a unit."""
    found = DURATION.fullmatch(value.strip())
    if not found:
        raise ValueError("must be milliseconds, or a number with ms, s, m, h or d, such as 30s")
    return int(found[1]) * UNITS[found[2] or "ms"]


def parse_lease(value: str) -> int:
    """The duration of a lease in milliseconds."""
    found = parse_duration(value)
    if not 100 <= found <= 30 * UNITS["d"]:
        raise ValueError("must be from 100ms to 30d")
    return found


def parse_pattern(value: str) -> str:
    """A regular expression as Python reads it."""
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"must be a regular expression: {error}") from error
    return value


def parse_names(value: str) -> tuple[str, ...]:
    """Names separated by commas."""
    found = tuple(part.strip() for part in value.split(",") if part.strip())
    if not found:
        raise ValueError("must be names separated by commas")
    return found


def parse_offsets(value: str) -> str:
    """The start of a new stream: only `earliest`, because a skipped message would stay in the queue for ever."""
    if value.lower() != "earliest":
        raise ValueError(
            "must be earliest, because a stream takes every waiting message "
            "(to start with new messages, purge the channels first or choose other channels with subscribe)"
        )
    return "earliest"


def parse_choice(*allowed: str) -> Callable[[str], str]:
    """A parser that accepts these words only."""

    def parse(value: str) -> str:
        if value.lower() not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return value.lower()

    return parse


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its name, description, parser, default, and the operations that accept it."""

    name: str
    description: str
    parse: Callable[[str], Any]
    default: Any
    operations: tuple[Operation, ...]


TABLES = ("messages", "history", "channels")
OPTIONS: tuple[Option, ...] = (
    Option("url", "database, such as postgresql://user@host/database", parse_url, None, ALL),
    Option("user", "database user, if the url has none", parse_text, None, ALL),
    Option("password", "password, if the url has none", parse_text, None, ALL),
    Option("schema", "schema of the queue", parse_schema, "lonnymq", ALL),
    Option("path", "table to read", parse_choice(*TABLES), None, READS),
    Option(
        "table", "table to read, instead of path", parse_choice(*TABLES), None, (*READS, "write")
    ),
    Option("numPartitions", "number of tasks that read", parse_count, 4, READS),
    Option("includeContent", "read the columns content and state", parse_boolean, True, READS),
    Option("pushDownPredicate", "filter channel, kind, outcome and times in PostgreSQL",
           parse_boolean, False, ("read",)),
    Option("snapshotTimeout", "time to keep a snapshot after the last task has read",
           parse_duration, 300_000, ("read",)),
    Option("stream", "name of the stream", parse_text, None, STREAM),
    Option("subscribe", "channels, separated by commas", parse_names, None, STREAM),
    Option("subscribePattern", "regular expression for the whole name of a channel", parse_pattern, None, STREAM),
    Option("maxMessagesPerTrigger", "maximum number of messages per batch", parse_count, 10_000, STREAM),
    Option("startingOffsets", "start of a new stream, always earliest", parse_offsets, "earliest", STREAM),
    Option("leaseDuration", "time until a claim returns to the queue after the query has died",
           parse_lease, 600_000, STREAM),
    Option("claimTimeout", "maximum age of a claim, 0 for no limit", parse_duration, 0, STREAM),
    Option("failOnLeaseLost", "stop the query when a claim has returned to the queue", parse_boolean, True, STREAM),
    Option("txnAppId", "name of the application that writes", parse_text, None, ("write",)),
    Option("txnVersion", "number of this write", parse_version, None, ("write",)),
    Option("rejectsTable", "table for rejected rows", parse_text, None, WRITES),
    Option("failOnReject", "write nothing if a row is rejected", parse_boolean, False, WRITES),
)  # fmt: skip
BY_NAME = {option.name.lower(): option for option in OPTIONS}


@dataclass(frozen=True)
class Options:
    """The parsed options of an operation. The representation hides the address, which may hold a password."""

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
        """The schema of the queue."""
        return str(self.values["schema"])

    @property
    def table(self) -> str | None:
        """The table to read."""
        table: str | None = self.values["path"] or self.values["table"]
        return table


def read_options(given: Mapping[str, str], *operations: Operation) -> Options:
    """Parse the options of one of these operations, and raise for an unknown option or a wrong value."""
    lowered = {key.lower(): value for key, value in given.items()}
    if "provider" in lowered:  # Spark's catalog asks for the columns of a new table
        raise InvalidArgument(TABLE_ADVICE)
    ours = {key: value for key, value in lowered.items() if key not in SPARK_OPTIONS}
    check_names(ours, operations)
    values = {key: option.default for key, option in BY_NAME.items()}
    for key, value in ours.items():
        values[key] = parse_option(BY_NAME[key], value)
    if not (url := ours.get("url") or os.environ.get(DSN_VARIABLE)):
        raise InvalidArgument(f"the option url is missing: {URL_ADVICE}")
    if "url" not in ours:
        parse_option(BY_NAME["url"], url)
        values["table"] = values["table"] or "messages"  # of a table in Spark's catalog
    values["url"] = parse_url(url, user=values["user"], password=values["password"])
    return Options(values, frozenset(ours))


def check_names(given: Mapping[str, str], operations: tuple[Operation, ...]) -> None:
    """Raise for an option that the operations do not accept, and list the accepted options."""
    known = sorted(option.name for option in OPTIONS if {*operations} & {*option.operations})
    wrong = sorted(key for key in given if key not in map(str.lower, known))
    if wrong:
        named = ", ".join(BY_NAME[key].name if key in BY_NAME else key for key in wrong)
        raise InvalidArgument(
            f"unknown option for a {' or '.join(operations)}: {named}. "
            f"The known options are {', '.join(known)}"
        )


def parse_option(option: Option, value: str) -> Any:
    """The value of an option; the error for a wrong value names the option."""
    try:
        return option.parse(value)
    except ValueError as error:
        shown = "" if option.name in ("url", "password") else f", not {value!r}"
        raise InvalidArgument(f"the option {option.name} {error}{shown}") from None
