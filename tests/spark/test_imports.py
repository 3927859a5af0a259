"""What a process of Spark's imports: it is started anew after a minute without work, and a user waits for that."""

import subprocess
import sys

import pytest

SLOW = {"pandas", "psycopg", "lonnymq.client.calls", "lonnymq.results", "pyarrow.compute"}
SHOWN = "import sys, {}; print(*(each for each in {} if each in sys.modules))"


@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        ("data_source", set()),
        ("read.batch_reader", set()),  # a task of a read, and what plans it until it connects
        ("stream.reader", set()),
        ("write.writers", set()),
        ("write.staged", {"psycopg", "pyarrow.compute"}),  # a task of a write, and its commit
    ],
)
def test_a_process_imports_nothing_slow_that_it_does_not_need(
    module: str, allowed: set[str]
) -> None:
    program = SHOWN.format(f"lonnymq.spark.{module}", sorted(SLOW))
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert set(ran.stdout.split()) <= allowed
