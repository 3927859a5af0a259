"""What-if on Spark: the same answers as without it, and history by the million in the columns of history."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from commands import run
from lonnymq.cli import simulation
from lonnymq.errors import InvalidArgument
from lonnymq.lake import read_history
from lonnymq.simulate import (
    Scenario,
    WorkloadShape,
    build_workload,
    evaluate_on_spark,
    generate_spark_history,
    make_history,
    make_trials,
    parse_objective,
    parse_setting,
    run_trials,
    run_trials_on_spark,
    to_arrow_table,
    tune,
)
from lonnymq.spark.read.schemas import HISTORY, arrow_schema, spark_schema

pytestmark = pytest.mark.timeout(900)  # a Spark on a machine that may be busy

SHAPE = WorkloadShape(
    messages=1_500, tenants=6, workers=4, load=1.1, noisy=0.5, failing=0.1, deferring=0.1
)


def test_a_sweep_on_spark_gives_what_a_plain_one_gives(spark: SparkSession) -> None:
    rows = make_history(SHAPE)
    begin = rows[len(rows) // 4].finished_at
    history = build_workload((row for row in rows if row.finished_at >= begin), begin=begin)
    changes = [
        [
            parse_setting("tenant-1.max_concurrency=1"),
            parse_setting("tenant-1.max_concurrency=none"),
        ]
    ]
    asked = make_trials(Scenario(4), workers=[4, 8], changes=changes, growth=[1, 1.5])
    results: list[int] = []
    found = run_trials_on_spark(spark, history, asked, seed=7, on_progress=results.append)
    assert found == run_trials(history, asked, seed=7)
    assert (
        found[0] == found[2] != found[1]
    )  # as it is, without a limit that is not there, and limited
    assert results == sorted(results)
    assert results[-1] == len(asked) == 12


def test_what_goes_wrong_in_a_sweep_is_said(spark: SparkSession) -> None:
    history = build_workload(make_history(WorkloadShape(messages=5)))
    wrong = make_trials(Scenario(1), workers=[1], growth=[-1])
    with pytest.raises(Exception, match="growth must be more than 0"):
        run_trials_on_spark(spark, history, wrong)
    assert run_trials_on_spark(spark, history, []) == []


@pytest.mark.long
def test_the_command_answers_alike_with_spark_and_without(spark: SparkSession) -> None:
    asked = ("simulate", "--synthetic", "--messages", 2000, "--workers", "4,8", "--growth", "1,2")
    plain, on_spark = (
        run(*asked, "--spark", where, "--json").json for where in ("never", "local[2]")
    )
    assert plain == on_spark
    assert spark.range(3).count() == 3  # a session that ran goes on


@pytest.mark.long
def test_where_there_is_much_to_replay_spark_is_asked_without_being_told(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("simulate", "--synthetic", "--messages", 100, "--workers", "2,4")
    assert "on Spark" not in run(*asked).err
    monkeypatch.setattr(simulation, "MIN_SPARK_ATTEMPTS", 200)
    ran = run(*asked)
    assert ran.code == 0
    assert "2 scenarios run on Spark on this machine" in ran.err


@pytest.mark.long
def test_history_for_scale_is_written_into_a_lake(spark: SparkSession, tmp_path: Path) -> None:
    made = ("simulate", "--synthetic", "--lake", tmp_path, "--days", 2, "--tenants", 9)
    ran = run(*made, "--messages", 3000, "--json")
    assert ran.code == 0, ran.err
    assert ran.json == {"lake": str(tmp_path), "source": "synthetic", "rows": 3000}
    frame = read_history(spark, tmp_path)
    assert frame.count() == 3000
    assert frame.select("channel").distinct().count() == 9
    assert run(*made).code == 2  # it is there


def test_made_up_rows_are_of_the_types_of_history(spark: SparkSession) -> None:
    table = to_arrow_table(make_history(SHAPE))
    assert table.schema == arrow_schema(HISTORY)
    frame = spark.createDataFrame(table)
    assert frame.schema == spark_schema(HISTORY)
    assert frame.where("finished_at >= dequeued_at").count() == table.num_rows


@pytest.fixture(scope="module")
def large(spark: SparkSession):
    frame = generate_spark_history(spark, 10_000, tenants=50, days=3, seed=2)
    yield frame.cache()
    frame.unpersist()


@pytest.mark.long
def test_history_at_scale_has_the_columns_of_history(spark: SparkSession, large) -> None:
    assert [(each.name, each.dataType) for each in large.schema] == [
        (each.name, each.dataType) for each in spark_schema(HISTORY)
    ]
    assert large.count() == 10_000


@pytest.mark.long
def test_history_at_scale_is_the_same_in_any_number_of_partitions(
    spark: SparkSession, large
) -> None:
    again = generate_spark_history(spark, 10_000, tenants=50, days=3, seed=2).coalesce(1)
    assert again.exceptAll(large).isEmpty()
    other = generate_spark_history(spark, 10_000, tenants=50, days=3, seed=3)
    assert not other.exceptAll(large).isEmpty()


@pytest.mark.long
def test_history_at_scale_is_history_that_could_have_been(large) -> None:
    [counts] = large.selectExpr(
        "count_if(not (created_at <= dequeued_at and dequeued_at < finished_at)) as backward",
        "count(distinct channel) as tenants",
        "count(distinct to_date(created_at)) as days",
        "count_if(channel = 'tenant-01') / count(*) as noisy",
        "count(distinct outcome) as outcomes",
        "count_if((error is null) <> (outcome in ('completed', 'deferred'))) as wrong_errors",
        "count_if(kind is null or worker is null or size < 1) as holes",
        "count(distinct xid) as xids",
    ).collect()
    assert (counts.backward, counts.wrong_errors, counts.holes) == (0, 0, 0)
    assert (counts.tenants, counts.days, counts.outcomes, counts.xids) == (50, 3, 5, 10_000)
    assert 0.2 < counts.noisy < 0.5
    ends = large.where("outcome in ('completed', 'dead')").groupBy("message_id").count()
    assert ends.where("count <> 1").isEmpty()
    assert ends.count() == large.select("message_id").distinct().count()
    further = large.alias("a").join(large.alias("b"), "message_id").where("a.xid < b.xid")
    assert further.count() == 500
    assert further.where("b.dequeued_at < a.finished_at").isEmpty()


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"rows": 1, "tenants": 0}, {"rows": 1, "days": 0}])
def test_history_that_cannot_be_is_refused(spark: SparkSession, wrong) -> None:
    with pytest.raises(InvalidArgument, match="at least 1"):
        generate_spark_history(spark, **wrong)


def test_a_search_on_spark_finds_what_a_plain_one_finds(spark: SparkSession) -> None:
    shape = WorkloadShape(messages=4_000, tenants=6, workers=8, load=0.95, noisy=0.5, seed=3)
    history = build_workload(make_history(shape))
    wanted = [parse_objective("tenant-2: p95 wait <= 300ms")]
    plain = tune(history, Scenario(8), wanted)
    assert plain.replays > 10
    on_spark = tune(
        history, Scenario(8), wanted, make_evaluate=lambda *each: evaluate_on_spark(spark, *each)
    )
    assert on_spark == plain
