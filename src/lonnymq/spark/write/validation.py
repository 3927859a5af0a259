"""Rows on their way into the queue, as Arrow: brought into the queue's types, and those that cannot be messages apart.

Runs on executors. The limits are those of the SQL function `guard_message`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

LONGEST = 255
LARGEST = 67_108_864
LATEST = 3_155_760_000_000
LARGEST_HEADERS = 16_384
SUSPECT_HEADERS = 4_096  # as text; how long they are as jsonb only the server knows

SCHEMA = pa.schema(
    [
        ("channel", pa.string()),
        ("content", pa.binary()),
        ("dequeue_at", pa.int64()),
        ("delay_ms", pa.int64()),
        ("name", pa.string()),
        ("kind", pa.string()),
        ("headers", pa.string()),
    ]
)
BAD_SCHEMA = pa.schema(
    [
        *(field for field in SCHEMA if field.name != "headers"),
        ("headers_text", pa.string()),
        ("answer", pa.string()),
        ("reason", pa.string()),
        ("detail", pa.string()),
    ]
)
Measure = Callable[[list[str]], list[int]]


@dataclass(frozen=True, slots=True)
class Judged:
    """A batch: the rows that can be messages, and those that cannot, with the reason."""

    good: pa.RecordBatch
    bad: pa.RecordBatch | None


@dataclass(frozen=True, slots=True)
class Fault:
    """Why some rows cannot be messages."""

    rows: Any
    reason: str
    detail: str


def judge(batch: pa.RecordBatch, measure: Measure) -> Judged:
    """Part the rows of a batch; `measure` tells how long headers are as the server stores them."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    headers, faults = read_headers(columns.get("headers"), measure)
    found = normal({**columns, "headers": headers}, batch.num_rows)
    faults = [*faults, *faults_of(found)]
    wrong = [fault for fault in faults if pc.any(fault.rows).as_py()]
    if not wrong:
        return Judged(found, None)
    texts = column_text(columns.get("headers"), batch.num_rows)
    return parted(found, texts, wrong)


def normal(columns: dict[str, Any], rows: int) -> pa.RecordBatch:
    """The columns in the queue's types; those that are not there are null."""
    arrays = []
    for field in SCHEMA:
        given = columns.get(field.name)
        if given is None:
            arrays.append(pa.nulls(rows, field.type))
        elif pa.types.is_timestamp(given.type):
            micros = given.cast(pa.timestamp("us", given.type.tz)).view(pa.int64())
            arrays.append(floor_thousand(micros))
        else:
            arrays.append(given if given.type == field.type else given.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def floor_thousand(micros: Any) -> Any:
    """Milliseconds, rounded down before 1970 as well."""
    cut = pc.divide(micros, 1000)
    return pc.if_else(pc.less(micros, pc.multiply(cut, 1000)), pc.subtract(cut, 1), cut)


def faults_of(found: pa.RecordBatch) -> Iterator[Fault]:
    """What is wrong with rows, thing by thing."""
    column = found.column
    yield Fault(pc.is_null(column("channel")), "invalid", "channel must be given")
    for name in ("channel", "name", "kind"):
        if column(name).null_count == found.num_rows:
            continue
        size = pc.fill_null(pc.binary_length(column(name)), 1)
        bad = pc.or_(pc.less(size, 1), pc.greater(size, LONGEST))
        yield Fault(bad, "invalid", f"{name} must be 1 to {LONGEST} bytes long")
        zero = pc.fill_null(pc.match_substring(column(name), "\0"), False)
        yield Fault(zero, "invalid", f"{name} must not hold the character 0")
    yield Fault(pc.is_null(column("content")), "invalid", "content must be given")
    large = pc.greater(pc.fill_null(pc.binary_length(column("content")), 0), LARGEST)
    yield Fault(large, "too_large", f"content is more than {LARGEST} bytes")
    delay = column("delay_ms")
    if delay.null_count < found.num_rows:
        both = pc.and_(pc.is_valid(delay), pc.is_valid(column("dequeue_at")))
        yield Fault(both, "invalid", "dequeue_at and delay_ms exclude each other")
        filled = pc.fill_null(delay, 0)
        bad = pc.or_(pc.less(filled, 0), pc.greater(filled, LATEST))
        yield Fault(bad, "invalid", f"delay_ms must be 0 to {LATEST}")


def parted(found: pa.RecordBatch, texts: Any, faults: Sequence[Fault]) -> Judged:
    """The sound rows, and the others with the first thing that is wrong with them."""
    masks = [pc.fill_null(fault.rows, False) for fault in faults]
    rows = found.num_rows
    reason = first_of(masks, [fault.reason for fault in faults], rows)
    detail = first_of(masks, [fault.detail for fault in faults], rows)
    is_bad = pc.is_valid(reason)
    arrays = [storable(found.column(name)) for name in SCHEMA.names if name != "headers"]
    answer = pa.repeat(pa.scalar("invalid"), rows)
    bad = pa.RecordBatch.from_arrays(
        [*arrays, storable(texts), answer, reason, detail], schema=BAD_SCHEMA
    )
    return Judged(found.filter(pc.invert(is_bad)), bad.filter(is_bad))


def first_of(masks: Sequence[Any], words: Sequence[str], rows: int) -> Any:
    """For each row the word of the first mask that holds; null: none does."""
    found = pa.nulls(rows, pa.string())
    for mask, word in zip(reversed(masks), reversed(words), strict=True):
        found = pc.if_else(mask, pa.scalar(word), found)
    return found


def storable(column: Any) -> Any:
    """Text without the character that PostgreSQL cannot store."""
    if not pa.types.is_string(column.type):
        return column
    return pc.replace_substring(column, "\0", "\ufffd")


def read_headers(column: Any, measure: Measure) -> tuple[Any, list[Fault]]:
    """Headers as the text of a JSON object, and the faults of those that are none."""
    if column is None or column.null_count == len(column):
        return None, []
    texts: list[str | None] = []
    wrong: list[bool] = []
    for value in column.to_pylist():
        text = None if value is None else object_text(value)
        texts.append(text)
        wrong.append(value is not None and text is None)
    suspects = [
        at for at, text in enumerate(texts) if text and len(text.encode()) > SUSPECT_HEADERS
    ]
    large = [False] * len(texts)
    if suspects:
        for at, size in zip(suspects, measure([texts[at] or "" for at in suspects]), strict=True):
            large[at] = size > LARGEST_HEADERS
    return pa.array(texts, pa.string()), [
        Fault(pa.array(wrong), "invalid", "headers must be a JSON object"),
        Fault(pa.array(large), "too_large", f"headers are more than {LARGEST_HEADERS} bytes"),
    ]


def object_text(value: Any) -> str | None:
    """The text of a JSON object that PostgreSQL can store; None: it is none."""
    try:
        read = json.loads(value) if isinstance(value, str) else dict(value)
        text = json.dumps(read, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, RecursionError):
        return None
    return text if isinstance(read, dict) and "\\u0000" not in text else None


def column_text(column: Any, rows: int) -> Any:
    """A column of headers as it came, as text."""
    if column is None:
        return pa.nulls(rows, pa.string())
    if pa.types.is_map(column.type):
        texts = [None if each is None else json.dumps(dict(each)) for each in column.to_pylist()]
        return pa.array(texts, pa.string())
    return column.cast(pa.string())
