import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from lonnymq.spark.write.validation import validate_batch


def lengths(texts: list[str]) -> list[int]:
    return [len(text) for text in texts]


def validated(measure=lengths, **columns):
    rows = max(len(column) for column in columns.values())
    given = {"channel": ["a"] * rows, "content": pa.array([b"1"] * rows, pa.binary()), **columns}
    return validate_batch(pa.RecordBatch.from_pydict(given), measure)


def problems(**columns) -> list[tuple[str, str]]:
    invalid = validated(**columns).invalid
    return (
        []
        if invalid is None
        else list(zip(invalid["reason"].to_pylist(), invalid["detail"].to_pylist(), strict=True))
    )


WRONG = {
    "no channel": ({"channel": pa.array([None], pa.string())}, "channel must be given"),
    "an empty channel": ({"channel": [""]}, "channel must be 1 to 255 bytes long"),
    "a long channel": ({"channel": ["ä" * 128]}, "channel must be 1 to 255 bytes long"),
    "a zero in a channel": ({"channel": ["a\0b"]}, "channel must not hold the character 0"),
    "no content": ({"content": pa.array([None], pa.binary())}, "content must be given"),
    "an empty key": ({"key": [""]}, "key must be 1 to 255 bytes long"),
    "a long kind": ({"kind": ["x" * 256]}, "kind must be 1 to 255 bytes long"),
    "both times": (
        {"dequeue_at": [1], "delay_ms": [1]},
        "dequeue_at and delay_ms exclude each other",
    ),
    "a negative delay": ({"delay_ms": [-1]}, "delay_ms must be 0 to 3155760000000"),
    "a list": ({"headers": ["[1]"]}, "headers must be a JSON object"),
    "no JSON": ({"headers": ["{"]}, "headers must be a JSON object"),
    "not a number": ({"headers": ['{"a": NaN}']}, "headers must be a JSON object"),
    "a zero in headers": ({"headers": ['{"a": "\\u0000"}']}, "headers must be a JSON object"),
    "half a character": ({"headers": ['{"a": "\\ud800"}']}, "headers must be a JSON object"),
}


@pytest.mark.parametrize(("columns", "output"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_a_message_is_parted_with_the_reason(columns, output: str) -> None:
    assert problems(**columns) == [("invalid", output)]
    assert validated(**columns).valid.num_rows == 0


def test_what_is_too_large_is_called_so() -> None:
    content = pa.array([b"x" * 67_108_865, b"x" * 67_108_864], pa.binary())
    assert problems(content=content) == [("too_large", "content is more than 67108864 bytes")]


def test_headers_are_measured_as_the_server_stores_them() -> None:
    long, longer = (json.dumps({"a": "x" * size}) for size in (5_000, 5_001))
    found = validated(lambda texts: [16_384, 16_385], headers=["{}", long, longer])
    assert found.valid["headers"].to_pylist() == ["{}", long]
    assert found.invalid["reason"].to_pylist() == ["too_large"]


def test_a_row_with_two_faults_is_told_of_one() -> None:
    assert problems(channel=[""], delay_ms=[-1]) == [
        ("invalid", "channel must be 1 to 255 bytes long")
    ]


def test_sound_rows_keep_their_order_among_bad_ones() -> None:
    found = validated(channel=["a", "", "b", "", "c"])
    assert found.valid["channel"].to_pylist() == ["a", "b", "c"]
    assert found.invalid.num_rows == 2


def test_columns_are_brought_into_the_queue_s_types() -> None:
    moments = [datetime(2030, 1, 1, tzinfo=UTC), datetime.fromtimestamp(-0.0001, UTC), None]
    found = validated(
        content=["ä", "", "x"],
        dequeue_at=pa.array(moments, pa.timestamp("us", "UTC")),
        headers=pa.array([[("a", "1")], None, []], pa.map_(pa.string(), pa.string())),
    ).valid
    assert found["content"].to_pylist() == ["ä".encode(), b"", b"x"]
    assert found["dequeue_at"].to_pylist() == [1_893_456_000_000, -1, None]
    assert found["headers"].to_pylist() == ['{"a": "1"}', None, "{}"]


def test_what_was_wrong_is_kept_as_it_came_but_for_what_cannot_be_stored() -> None:
    invalid = validated(channel=["a\0"], headers=["[1]"]).invalid
    assert invalid["channel"].to_pylist() == ["a\ufffd"]
    assert invalid["headers_text"].to_pylist() == ["[1]"]
