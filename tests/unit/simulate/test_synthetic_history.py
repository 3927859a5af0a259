"""Made-up history: rows as the engine writes them, with waits that are those of a queue."""

from collections import Counter

import pytest

from lonnymq.simulate import (
    Limits,
    Scenario,
    WorkloadShape,
    build_workload,
    calibrate,
    make_history,
    to_arrow_table,
)
from lonnymq.simulate.synthetic import assign_workers

SHAPE = WorkloadShape(
    messages=3_000, tenants=9, workers=4, load=1.1, noisy=0.5, failing=0.1, deferring=0.05, seed=5
)


def test_the_same_shape_gives_the_same_rows() -> None:
    assert make_history(SHAPE) == make_history(SHAPE)


def test_rows_are_in_the_order_in_which_transactions_ended_them() -> None:
    rows = make_history(SHAPE)
    assert [row.finished_at for row in rows] == sorted(row.finished_at for row in rows)
    assert [row.xid for row in rows] == sorted({row.xid for row in rows})
    assert all(row.created_at <= row.dequeued_at <= row.finished_at for row in rows)


def test_a_message_has_one_channel_and_kind_and_ends_once() -> None:
    rows = make_history(SHAPE)
    assert (
        len({(row.message_id, row.channel, row.kind, row.size, row.created_at) for row in rows})
        == 3_000
    )
    ends = Counter(row.message_id for row in rows if row.outcome in ("completed", "dead"))
    assert set(ends.values()) == {1}
    assert len(ends) == 3_000
    assert {row.outcome for row in rows} == {"completed", "deferred", "failed", "expired", "dead"}
    assert all((row.error is None) == (row.outcome in ("completed", "deferred")) for row in rows)


def test_limits_and_workers_are_kept() -> None:
    rows = make_history(SHAPE, workers=3, limits={"tenant-1": Limits(max_concurrency=1)})
    assert build_workload(rows).max_concurrent == 3
    assert build_workload(row for row in rows if row.channel == "tenant-1").max_concurrent == 1
    assert {row.worker for row in rows} == {"worker-01", "worker-02", "worker-03"}


def test_its_replay_at_the_same_settings_is_what_was_recorded() -> None:
    limits = {"tenant-1": Limits(max_concurrency=2)}
    rows = make_history(SHAPE, limits=limits)
    assert calibrate(build_workload(rows), Scenario(4, limits)).error < 0.05


def test_a_worker_has_one_attempt_at_a_time() -> None:
    assert assign_workers([0, 0, 5, 10, 10], [10, 4, 9, 12, 11]) == [0, 1, 1, 1, 0]


def test_in_arrow_moments_are_moments_and_headers_are_text() -> None:
    pytest.importorskip("pyarrow")
    [first, *_] = rows = make_history(WorkloadShape(messages=5, tenants=2))
    table = to_arrow_table(rows)
    assert table.num_rows == 5
    assert table.column("finished_at")[0].as_py().timestamp() * 1000 == pytest.approx(
        first.finished_at
    )
    assert table.column("dequeue_at")[0].as_py() == first.dequeue_at
    assert to_arrow_table([]).schema == table.schema
