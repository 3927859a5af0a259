import pyarrow as pa

from lonnymq.spark.write import inserts as module
from lonnymq.spark.write.inserts import group_batches


def batch(*rows: tuple[str, int]) -> pa.RecordBatch:
    channels, numbers = zip(*rows, strict=True)
    return pa.RecordBatch.from_pydict({"channel": channels, "content": numbers})


def rows_of(found: pa.RecordBatch) -> list[tuple[str, int]]:
    return list(zip(found["channel"].to_pylist(), found["content"].to_pylist(), strict=True))


def test_rows_are_put_in_the_order_of_their_channels_and_keep_their_own() -> None:
    found = list(group_batches([batch(("b", 1), ("a", 2)), batch(("b", 3), ("a", 4))]))
    assert [rows_of(each) for each in found] == [[("a", 2), ("a", 4), ("b", 1), ("b", 3)]]


def test_a_batch_ends_when_it_is_large_enough(monkeypatch) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", 2)
    found = list(group_batches([batch(("b", 1)), batch(("a", 2)), batch(("a", 3))]))
    assert [rows_of(each) for each in found] == [[("a", 2), ("b", 1)], [("a", 3)]]


def test_no_rows_are_no_batch() -> None:
    empty = pa.RecordBatch.from_pydict({"channel": pa.array([], pa.string())})
    assert list(group_batches([])) == list(group_batches([empty])) == []


def test_a_row_without_a_channel_is_not_lost() -> None:
    found = list(
        group_batches([pa.RecordBatch.from_pydict({"channel": [None, "a"], "content": [1, 2]})])
    )
    assert rows_of(found[0]) == [("a", 2), (None, 1)]
