"""Validates rows before a write: casts them to the queue's types and separates the invalid rows, as Arrow.

Runs on executors, and on the driver for few rows. The limits are those of the SQL function `guard_message`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

MAX_TEXT_BYTES = 255
MAX_CONTENT_BYTES = 67_108_864
MAX_DELAY_MS = 3_155_760_000_000
MAX_HEADER_BYTES = 16_384
MEASURED_HEADER_BYTES = 4_096  # of text: the server measures longer headers as jsonb

SCHEMA = pa.schema(
    [
        ("channel", pa.string()),
        ("content", pa.binary()),
        ("dequeue_at", pa.int64()),
        ("delay_ms", pa.int64()),
        ("key", pa.string()),
        ("kind", pa.string()),
        ("headers", pa.string()),
    ]
)
REJECTED_SCHEMA = pa.schema(
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
class ValidatedBatch:
    """The valid rows of a batch, and the invalid rows with the reason."""

    valid: pa.RecordBatch
    invalid: pa.RecordBatch | None

    @property
    def invalid_count(self) -> int:
        """The number of invalid rows."""
        return 0 if self.invalid is None else int(self.invalid.num_rows)


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem, and a mask of the rows that have it."""

    rows: Any
    reason: str
    detail: str


def validate_batch(batch: pa.RecordBatch, measure: Measure) -> ValidatedBatch:
    """Separate the valid rows of a batch; `measure` returns the sizes of headers as the server stores them."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    headers, problems = read_headers(columns.get("headers"), measure)
    rows = cast_columns({**columns, "headers": headers}, batch.num_rows)
    problems = [*problems, *find_problems(rows)]
    found = [problem for problem in problems if pc.any(problem.rows).as_py()]
    if not found:
        return ValidatedBatch(rows, None)
    texts = headers_text(columns.get("headers"), batch.num_rows)
    return separate_rows(rows, texts, found)


def cast_columns(columns: dict[str, Any], rows: int) -> pa.RecordBatch:
    """The columns in the queue's types; missing columns are null."""
    arrays = []
    for field in SCHEMA:
        given = columns.get(field.name)
        if given is None:
            arrays.append(pa.nulls(rows, field.type))
        elif pa.types.is_timestamp(given.type):
            micros = given.cast(pa.timestamp("us", given.type.tz)).view(pa.int64())
            arrays.append(to_milliseconds(micros))
        else:
            arrays.append(given if given.type == field.type else given.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def to_milliseconds(micros: Any) -> Any:
    """Microseconds as milliseconds, rounded down before 1970 as well."""
    cut = pc.divide(micros, 1000)
    return pc.if_else(pc.less(micros, pc.multiply(cut, 1000)), pc.subtract(cut, 1), cut)


def find_problems(found: pa.RecordBatch) -> Iterator[Problem]:
    """Every possible problem, with the rows that have it."""
    column = found.column
    yield Problem(pc.is_null(column("channel")), "invalid", "channel must be given")
    for name in ("channel", "key", "kind"):
        if column(name).null_count == found.num_rows:
            continue
        size = pc.fill_null(pc.binary_length(column(name)), 1)
        bad = pc.or_(pc.less(size, 1), pc.greater(size, MAX_TEXT_BYTES))
        yield Problem(bad, "invalid", f"{name} must be 1 to {MAX_TEXT_BYTES} bytes long")
        zero = pc.fill_null(pc.match_substring(column(name), "\0"), False)
        yield Problem(zero, "invalid", f"{name} must not hold the character 0")
    yield Problem(pc.is_null(column("content")), "invalid", "content must be given")
    large = pc.greater(pc.fill_null(pc.binary_length(column("content")), 0), MAX_CONTENT_BYTES)
    yield Problem(large, "too_large", f"content is more than {MAX_CONTENT_BYTES} bytes")
    delay = column("delay_ms")
    if delay.null_count < found.num_rows:
        both = pc.and_(pc.is_valid(delay), pc.is_valid(column("dequeue_at")))
        yield Problem(both, "invalid", "dequeue_at and delay_ms exclude each other")
        filled = pc.fill_null(delay, 0)
        bad = pc.or_(pc.less(filled, 0), pc.greater(filled, MAX_DELAY_MS))
        yield Problem(bad, "invalid", f"delay_ms must be 0 to {MAX_DELAY_MS}")


def separate_rows(found: pa.RecordBatch, texts: Any, problems: Sequence[Problem]) -> ValidatedBatch:
    """The valid rows, and the invalid rows each with its first problem."""
    masks = [pc.fill_null(problem.rows, False) for problem in problems]
    rows = found.num_rows
    reason = first_match(masks, [problem.reason for problem in problems], rows)
    detail = first_match(masks, [problem.detail for problem in problems], rows)
    is_invalid = pc.is_valid(reason)
    arrays = [replace_nul(found.column(name)) for name in SCHEMA.names if name != "headers"]
    answer = pa.repeat(pa.scalar("invalid"), rows)
    invalid = pa.RecordBatch.from_arrays(
        [*arrays, replace_nul(texts), answer, reason, detail], schema=REJECTED_SCHEMA
    )
    return ValidatedBatch(found.filter(pc.invert(is_invalid)), invalid.filter(is_invalid))


def first_match(masks: Sequence[Any], words: Sequence[str], rows: int) -> Any:
    """For each row the word of the first mask that is true; null: no mask is true."""
    found = pa.nulls(rows, pa.string())
    for mask, word in zip(reversed(masks), reversed(words), strict=True):
        found = pc.if_else(mask, pa.scalar(word), found)
    return found


def replace_nul(column: Any) -> Any:
    """Text without the character that PostgreSQL cannot store."""
    if not pa.types.is_string(column.type):
        return column
    return pc.replace_substring(column, "\0", "\ufffd")


def read_headers(column: Any, measure: Measure) -> tuple[Any, list[Problem]]:
    """Headers as texts of JSON objects, and the problems of the other headers."""
    if column is None or column.null_count == len(column):
        return None, []
    texts: list[str | None] = []
    wrong: list[bool] = []
    for value in column.to_pylist():
        text = None if value is None else json_object_text(value)
        texts.append(text)
        wrong.append(value is not None and text is None)
    measured = [
        at for at, text in enumerate(texts) if text and len(text.encode()) > MEASURED_HEADER_BYTES
    ]
    large = [False] * len(texts)
    if measured:
        for at, size in zip(measured, measure([texts[at] or "" for at in measured]), strict=True):
            large[at] = size > MAX_HEADER_BYTES
    return pa.array(texts, pa.string()), [
        Problem(pa.array(wrong), "invalid", "headers must be a JSON object"),
        Problem(pa.array(large), "too_large", f"headers are more than {MAX_HEADER_BYTES} bytes"),
    ]


def json_object_text(value: Any) -> str | None:
    """The text of a JSON object that PostgreSQL can store; None: the value is not such an object."""
    try:
        read = json.loads(value) if isinstance(value, str) else dict(value)
        text = json.dumps(read, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, RecursionError):
        return None
    return text if isinstance(read, dict) and "\\u0000" not in text else None


def headers_text(column: Any, rows: int) -> Any:
    """The original headers as text."""
    if column is None:
        return pa.nulls(rows, pa.string())
    if pa.types.is_map(column.type):
        texts = [None if each is None else json.dumps(dict(each)) for each in column.to_pylist()]
        return pa.array(texts, pa.string())
    return column.cast(pa.string())
