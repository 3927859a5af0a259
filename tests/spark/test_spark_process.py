import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

ELSEWHERE = (
    "import gc, lonnymq.spark.spark_process as r; r.freeze_imports(); print(gc.get_freeze_count())"
)
FROZEN = "id bigint, frozen bigint"


def frozen(batches):
    """What each task's process leaves out of its garbage collections."""
    import gc

    import pyarrow as pa

    for batch in batches:
        count = pa.repeat(gc.get_freeze_count(), batch.num_rows)
        yield pa.RecordBatch.from_arrays([batch.column(0), count], names=["id", "frozen"])


def test_a_process_of_spark_looks_for_garbage_among_new_things_only(
    queue_format, spark: SparkSession
) -> None:
    for _ in range(3):
        queue_format.read().load("channels").count()
    rows = spark.range(0, 8, 1, 8).mapInArrow(frozen, FROZEN).collect()
    assert max(row.frozen for row in rows) > 10_000


def test_a_process_of_the_user_s_is_left_alone(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("0\n", "")
