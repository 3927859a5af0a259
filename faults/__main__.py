"""Run scenarios: `python -m faults --scenario mixed --seed 7`, or all of a size: `python -m faults --size ci`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from faults import report
from faults.run import Result
from faults.scenarios import NAMES, load_scenario, run_scenario

RESULTS = Path(__file__).parent / "results"


def main() -> int:
    """Run the chosen scenarios. Returns 1 if a scenario found a violation."""
    parser = argparse.ArgumentParser(
        prog="python -m faults", description="Run the queue under faults and check every message."
    )
    parser.add_argument(
        "--scenario", action="append", help="run only this scenario, may be repeated"
    )
    parser.add_argument(
        "--size",
        choices=["test", "ci", "soak"],
        default="ci",
        help="size of the scenarios, default ci",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the fault schedule, default 1")
    parser.add_argument(
        "--bin-dir",
        type=Path,
        help="folder of the PostgreSQL programs, default the embedded PostgreSQL 18",
    )
    parser.add_argument(
        "--json", type=Path, help="file for the results, default a dated file in faults/results"
    )
    parser.add_argument("--page", type=Path, help="Markdown page that gets the tables")
    parser.add_argument("--list", action="store_true", help="list the scenarios and exit")
    parser.add_argument("--quiet", action="store_true", help="print only the tables")
    given = parser.parse_args()
    if given.list:
        for name in NAMES:
            print(f"{name:16} {load_scenario(name).about.splitlines()[0]}")
        return 0
    results: list[Result] = []
    try:
        for name in given.scenario or NAMES:
            results.append(run_one(name, given))
    finally:
        show_results(results, given)
    return 0 if all(each.is_good for each in results) else 1


def run_one(name: str, given: argparse.Namespace) -> Result:
    """Run one scenario."""
    if given.size not in load_scenario(name).sizes:
        given.size = "ci"
    print(f"{name}: {load_scenario(name).about.splitlines()[0]}", flush=True)
    result = run_scenario(
        name, size=given.size, seed=given.seed, quiet=given.quiet, bin_dir=given.bin_dir
    )
    verdict = "good" if result.is_good else f"{len(result.violations)} VIOLATIONS"
    print(f"{name}: {verdict} in {result.seconds:.0f} s", flush=True)
    if not result.is_good:
        print(report.render_failures([result]), flush=True)
    return result


def show_results(results: list[Result], given: argparse.Namespace) -> None:
    """The tables, the figures, what was found, and the JSON."""
    if not results:
        return
    print(f"\n{report.render_tables(results)}\n\n{report.render_figures(results)}\n")
    if found := report.render_failures(results):
        print(found)
    path = (
        given.json or RESULTS / f"{given.size}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.json"
    )
    report.save_json(results, path)
    if given.page:
        report.write_page(
            results, given.page, "make soak" if given.size == "soak" else "make faults"
        )
    print(f"written to {path}")


if __name__ == "__main__":
    sys.exit(main())
