"""The arguments of SQL functions: their types in Python and in SQL, and checks of what SQL cannot reject well."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeVar
from uuid import UUID

from lonnymq.errors import InvalidArgument, TooLarge
from lonnymq.results import Leased, Misfire

Bytes = bytes | bytearray | memoryview
Duration = int | timedelta
Moment = int | datetime
Value = TypeVar("Value")

MAX_CONTENT_BYTES = 64 * 1024 * 1024
MAX_STATE_BYTES = 1024 * 1024
MAX_RESULT_BYTES = 1024 * 1024
MAX_NAME_BYTES = 255
MAX_PRIORITY = 1000
MAX_INT32, MAX_INT64, MAX_XID8 = 2**31 - 1, 2**63 - 1, 2**64 - 1
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


class Texts(list[str]):
    """The elements of a text[], none of them null."""


class Contents(list[bytes]):
    """The elements of a bytea[], none of them null."""


class Identifiers(list[int]):
    """The elements of a bigint[], none of them null."""


class Tokens(list[Any]):
    """The elements of a uuid[], none of them null."""


def optional_column(values: Iterable[object]) -> list[object] | None:
    """A column of which rows may say nothing, or None where none says anything: then it is quicker to store."""
    found = list(values)
    return None if found.count(None) == len(found) else found


def optional(checker: Callable[[str, object], Value], what: str, value: object) -> Value | None:
    """None stays None, everything else is checked."""
    return None if value is None else checker(what, value)


def not_both(one: str, value: object, other: str, other_value: object) -> None:
    """Two ways to say the same thing are not both used."""
    if value is not None and other_value is not None:
        raise InvalidArgument(f"give {one} or {other}, not both")


def number(allowed: str, value: object, *, least: int, most: int) -> int:
    """An int in the range; a bool, a float (nan, inf) or a string is none."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidArgument(f"{allowed}, not {describe_value(value)}")
    return value


def count(what: str, value: object) -> int:
    """A number of rows; how many are allowed is for the function to say."""
    return number(f"{what} must be a whole number", value, least=-MAX_INT32, most=MAX_INT32)


def identifier(what: str, value: object) -> int:
    """A message id."""
    if type(value) is int and -MAX_INT64 <= value <= MAX_INT64:
        return value
    return number(f"{what} must be a whole number", value, least=-MAX_INT64, most=MAX_INT64)


def transaction_id(what: str, value: object) -> str:
    """A transaction id, which travels as text because not every driver knows xid8."""
    return str(number(f"{what} must be a transaction id", value, least=0, most=MAX_XID8))


def attempts(what: str, value: object) -> int:
    """A number of attempts."""
    return number(f"{what} must be a whole number from 1", value, least=1, most=MAX_INT32)


def priority(what: str, value: object) -> int:
    """A priority: 0 is ordinary."""
    return number(
        f"{what} must be a whole number from 0 to {MAX_PRIORITY}", value, least=0, most=MAX_PRIORITY
    )


def milliseconds(what: str, value: object) -> int:
    """A duration in whole milliseconds, zero or more, from an int or a timedelta."""
    value = value // MILLISECOND if isinstance(value, timedelta) else value
    allowed = f"{what} must be a timedelta or a whole number of milliseconds, zero or more"
    return number(allowed, value, least=0, most=MAX_INT64)


def connection_count(value: object) -> int:
    """How many connections may be open at the same time."""
    return number(
        "max_connections must be a whole number from 1 to 10000", value, least=1, most=10_000
    )


def timeout_seconds(value: object) -> float | None:
    """A time limit of calls in seconds; None is no limit."""
    allowed = "timeout_ms must be None, a timedelta or a whole number of milliseconds from 100"
    value = value // MILLISECOND if isinstance(value, timedelta) else value
    return None if value is None else number(allowed, value, least=100, most=MAX_INT64) / 1000


def moment(what: str, value: object) -> int:
    """Epoch milliseconds, negative ones too, from an int or a datetime that knows its timezone."""
    allowed = f"{what} must be epoch milliseconds or a datetime with a time zone"
    if isinstance(value, datetime) and value.utcoffset() is not None:
        value = (value - EPOCH) // MILLISECOND
    return number(allowed, value, least=-MAX_INT64, most=MAX_INT64)


def text(what: str, value: object) -> str:
    """A string that PostgreSQL can store."""
    encoded(what, value)
    return str(value)


def encoded(what: str, value: object) -> bytes:
    """The UTF-8 of a string that PostgreSQL can store."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{what} must be a str, not {describe_value(value)}")
    if "\0" in value:
        raise InvalidArgument(f"{what} must not contain NUL (U+0000)")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{what} must be Unicode without lone surrogates") from None


def name(what: str, value: object) -> str:
    """The name of a channel, a kind, a worker, or the key of a message: 1 to 255 bytes of UTF-8."""
    size = len(encoded(what, value))
    if not 1 <= size <= MAX_NAME_BYTES:
        raise InvalidArgument(f"{what} must be 1 to {MAX_NAME_BYTES} bytes of UTF-8, not {size}")
    return value  # type: ignore[return-value]  # a str, or it would have no UTF-8


def content(what: str, value: object, *, most: int = MAX_CONTENT_BYTES) -> bytes:
    """Bytes within the limit, checked before anything is copied or sent."""
    if type(value) is bytes and len(value) <= most:
        return value
    if isinstance(value, str):
        raise InvalidArgument(f"{what} must be bytes, not str: write text.encode()")
    if not isinstance(value, bytes | bytearray | memoryview):
        raise InvalidArgument(
            f"{what} must be bytes, bytearray or memoryview, not {describe_value(value)}"
        )
    size = value.nbytes if isinstance(value, memoryview) else len(value)
    if size > most:
        raise TooLarge(f"{what} must be at most {most} bytes, not {size}: {TooLarge.__doc__}")
    return bytes(value)


def state(what: str, value: object) -> bytes:
    """The bytes that a deferred message keeps."""
    return content(what, value, most=MAX_STATE_BYTES)


def result(what: str, value: object) -> bytes:
    """The bytes that a completed message leaves in history."""
    return content(what, value, most=MAX_RESULT_BYTES)


def results(what: str, values: Iterable[object]) -> list[bytes | None]:
    """A result for each message, or None."""
    return [optional(result, what, each) for each in values]


def progress(what: str, value: object) -> float:
    """How far a handler has come."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidArgument(f"{what} must be a number from 0 to 1, not {describe_value(value)}")
    return float(value)


def progress_note(what: str, value: object) -> str:
    """What a handler says of its progress."""
    if len(encoded(what, value)) > MAX_NAME_BYTES:
        raise InvalidArgument(f"{what} must be at most {MAX_NAME_BYTES} bytes long")
    return str(value)


def headers(what: str, value: object) -> str:
    """A JSON object as text."""
    if not isinstance(value, Mapping):
        raise InvalidArgument(
            f"{what} must be a mapping that JSON can hold, not {describe_value(value)}"
        )
    return encode_json(what, value)


def json_list(what: str, value: object) -> str:
    """A JSON list as text."""
    if not isinstance(value, list):
        raise InvalidArgument(
            f"{what} must be a list that JSON can hold, not {describe_value(value)}"
        )
    return encode_json(what, value)


def encode_json(what: str, value: Mapping[str, Any] | list[Any]) -> str:
    """The mapping or list as JSON that jsonb can hold; a timedelta is written in milliseconds."""
    kind = "list" if isinstance(value, list) else "mapping"
    try:
        content = value if isinstance(value, list) else dict(value)
        written = json.dumps(content, allow_nan=False, ensure_ascii=False, default=encode_duration)
        written.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(f"{what} must be a {kind} that JSON can hold: {error}") from error
    if ESCAPED_NUL.search(written):
        raise InvalidArgument(f"{what} must not contain NUL (U+0000)")
    return written


def encode_duration(value: object) -> object:
    """What JSON has no form for but we do: a timedelta is its milliseconds."""
    if isinstance(value, timedelta):
        return value // MILLISECOND
    raise TypeError(f"{type(value).__name__} has no JSON form")


def yes_or_no(what: str, value: object) -> bool:
    """A bool and nothing that merely looks like one."""
    if not isinstance(value, bool):
        raise InvalidArgument(f"{what} must be True or False, not {describe_value(value)}")
    return value


def token(what: str, value: object) -> UUID:
    """A lease's token."""
    if not isinstance(value, UUID):
        raise InvalidArgument(f"{what} must be a UUID, not {describe_value(value)}")
    return value


def error_text(value: object) -> str:
    """What went wrong, made storable rather than rejected: any failure must be reportable."""
    message = f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else value
    if not isinstance(message, str):
        raise InvalidArgument(f"error must be a str or an exception, not {describe_value(value)}")
    return message.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def describe_value(value: object) -> str:
    """A value in an error message, short enough to read."""
    huge = isinstance(value, int) and abs(value) >= 10**30
    return f"{type(value).__name__} {'out of range' if huge else repr(value)[:80]}"


def names(what: str, values: object) -> list[str]:
    """Names in a collection; a single string would be a collection of single letters."""
    return [name(f"one of the {what}", each) for each in check_collection(what, values, "str")]


def kinds(what: str, values: object) -> list[str | None]:
    """Kinds in a collection, None for messages without a kind."""
    return [
        None if each is None else name(f"one of the {what}", each)
        for each in check_collection(what, values, "str or None")
    ]


def identifiers(what: str, values: object) -> Identifiers:
    """Message ids in a collection."""
    return Identifiers(
        identifier(f"one of the {what}", each) for each in check_collection(what, values, "int")
    )


def moments(what: str, values: object) -> Identifiers:
    """Times in a collection."""
    return Identifiers(
        moment(f"one of the {what}", each) for each in check_collection(what, values, "times")
    )


def check_collection(what: str, values: object, of: str) -> Iterable[object]:
    """The values of a collection."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidArgument(f"{what} must be a list of {of}, not {describe_value(values)}")
    return values


def lease_of(_: str, message: Leased) -> tuple[int, UUID]:
    """The two parts that name a lease."""
    return identifier("id", message.id), token("token", message.token)


def leases_of(_: str, messages: Iterable[Leased]) -> tuple[Identifiers, Tokens]:
    """The ids and the tokens of many leases."""
    given = list(messages)
    ids = Identifiers([identifier("id", each.id) for each in given])
    return ids, Tokens([token("token", each.token) for each in given])


@dataclass(frozen=True, slots=True)
class Argument:
    """How Python hands over an argument: its SQL type, how methods write its Python type, and its check.

    With two SQL types it takes two places of the SQL function, and its check answers two values.
    """

    sql: str
    python: str
    check: Callable[[str, Any], Any]


Name = Annotated[str, Argument("text", "str", name)]
Text = Annotated[str, Argument("text", "str", text)]
Error = Annotated[
    str | BaseException, Argument("text", "str | BaseException", lambda _, each: error_text(each))
]
Count = Annotated[int, Argument("integer", "int", count)]
Identifier = Annotated[int, Argument("bigint", "int", identifier)]
Position = Annotated[int, Argument("text::xid8", "int", transaction_id)]
Period = Annotated[Duration, Argument("bigint", "Duration", milliseconds)]
Time = Annotated[Moment, Argument("bigint", "Moment", moment)]
Content = Annotated[Bytes, Argument("bytea", "Bytes", content)]
Json = Annotated[Mapping[str, Any], Argument("jsonb", "Mapping[str, Any]", headers)]
JsonList = Annotated[list[Any], Argument("jsonb", "list[Any]", json_list)]
JsonOrEmpty = Annotated[
    Mapping[str, Any] | None,
    Argument("jsonb", "Mapping[str, Any] | None", lambda what, each: headers(what, each or {})),
]
MisfireArgument = Annotated[Misfire, Argument("text", "results.Misfire", text)]
Flag = Annotated[bool, Argument("boolean", "bool", yes_or_no)]
Names = Annotated[Iterable[str], Argument("text[]", "Iterable[str]", names)]
Kinds = Annotated[Iterable[str | None], Argument("text[]", "Iterable[str | None]", kinds)]
Ids = Annotated[Iterable[int], Argument("bigint[]", "Iterable[int]", identifiers)]
Times = Annotated[Iterable[Moment], Argument("bigint[]", "Iterable[Moment]", moments)]
ResultArgument = Annotated[Bytes, Argument("bytea", "Bytes", result)]
ResultArguments = Annotated[
    Iterable[Bytes | None], Argument("bytea[]", "Iterable[Bytes | None]", results)
]
Progress = Annotated[float, Argument("real", "float", progress)]
ProgressNote = Annotated[str, Argument("text", "str", progress_note)]
ProgressList = Annotated[
    Iterable[float | None],
    Argument(
        "real[]",
        "Iterable[float | None]",
        lambda what, values: [optional(progress, what, each) for each in values],
    ),
]
ProgressNotes = Annotated[
    Iterable[str | None],
    Argument(
        "text[]",
        "Iterable[str | None]",
        lambda what, values: [optional(progress_note, what, each) for each in values],
    ),
]
LeaseArgument = Annotated[Leased, Argument("bigint uuid", "results.Leased", lease_of)]
LeaseArguments = Annotated[
    Iterable[Leased], Argument("bigint[] uuid[]", "Iterable[results.Leased]", leases_of)
]
