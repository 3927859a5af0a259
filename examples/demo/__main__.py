"""`python -m examples.demo`: runs the demo and ends with 1 if a promise was broken."""

import argparse
import sys
from pathlib import Path

from examples.demo.lake_report import default_file
from examples.demo.run import run


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make demo", description="A video service at work on a private server."
    )
    parser.add_argument("--keep", action="store_true", help="keep the server running until Ctrl-C")
    parser.add_argument(
        "--spark", action="store_true", help="add Spark and a report, one more minute"
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="file of the report, needs --spark"
    )
    chosen = parser.parse_args()
    if chosen.report and not chosen.spark:
        parser.error("--report needs --spark")
    if chosen.spark:
        from lonnymq.spark.spark_session import find_java

        find_java()
    report = chosen.report.absolute() if chosen.report else default_file()
    return run(keep=chosen.keep, report=report if chosen.spark else None)


if __name__ == "__main__":
    sys.exit(main())
