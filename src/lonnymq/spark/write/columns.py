"""The columns of a DataFrame that is written: which there may be, and of which types; checked on the driver."""

from __future__ import annotations

from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from lonnymq.errors import InvalidArgument

TEXT = (StringType,)
NUMBER = (LongType, IntegerType, ShortType)
TAKEN: dict[str, tuple[type[DataType], ...]] = {
    "channel": TEXT,
    "content": (BinaryType, StringType),
    "dequeue_at": (*NUMBER, TimestampType),
    "delay_ms": NUMBER,
    "name": TEXT,
    "kind": TEXT,
    "headers": (StringType, MapType),
}
SAID = {
    "content": "binary or string",
    "dequeue_at": "bigint (epoch milliseconds) or timestamp",
    "delay_ms": "bigint",
    "headers": "string (a JSON object) or map<string,string>",
}
NEEDED = ("channel", "content")


def check_columns(schema: StructType) -> None:
    """Raise at a column that is missing, unknown, or of a type that cannot be written."""
    names = schema.fieldNames()
    for needed in NEEDED:
        if needed not in names:
            raise InvalidArgument(
                f"the column {needed} is missing; the columns of a message are {', '.join(TAKEN)}, "
                f"of which {' and '.join(NEEDED)} are needed; given are {', '.join(names)}"
            )
    for field in schema.fields:
        if field.name not in TAKEN:
            raise InvalidArgument(
                f"unknown column {field.name}: select those of a message, {', '.join(TAKEN)}"
            )
        if not isinstance(field.dataType, TAKEN[field.name]) or not is_text_map(field.dataType):
            raise InvalidArgument(
                f"the column {field.name} must be {SAID.get(field.name, 'string')}, "
                f"not {field.dataType.simpleString()}"
            )


def is_text_map(kind: DataType) -> bool:
    """Whether a type, if it is a map, is one from text to text."""
    if not isinstance(kind, MapType):
        return True
    return isinstance(kind.keyType, StringType) and isinstance(kind.valueType, StringType)
