"""Run scenarios: `python -m faults --scenario mixed --seed 7`, or all of a size: `python -m faults --size ci`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from faults import report
from faults.run import Result
from faults.scenarios import NAMES, play, scenario

RESULTS = Path(__file__).parent / "results"


def main() -> int:
    """Run what was asked for; 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("--scenario", action="append", help="a name; may be given again")
    parser.add_argument("--size", choices=["test", "ci", "soak"], default="ci")
    parser.add_argument("--seed", type=int, default=1, help="the same seed draws the same schedule")
    parser.add_argument(
        "--bin-dir", type=Path, help="PostgreSQL's programs, if not the 18 that comes along"
    )
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("--page", type=Path, help="a page to put the tables into")
    parser.add_argument("--list", action="store_true", help="list the scenarios")
    parser.add_argument("--quiet", action="store_true", help="only the tables")
    given = parser.parse_args()
    if given.list:
        for name in NAMES:
            print(f"{name:16} {scenario(name).about.splitlines()[0]}")
        return 0
    results: list[Result] = []
    try:
        for name in given.scenario or NAMES:
            results.append(one(name, given))
    finally:
        show(results, given)
    return 0 if all(each.is_good for each in results) else 1


def one(name: str, given: argparse.Namespace) -> Result:
    """Run one scenario."""
    if given.size not in scenario(name).sizes:
        given.size = "ci"
    print(f"{name}: {scenario(name).about.splitlines()[0]}", flush=True)
    result = play(name, size=given.size, seed=given.seed, quiet=given.quiet, bin_dir=given.bin_dir)
    verdict = "good" if result.is_good else f"{len(result.violations)} VIOLATIONS"
    print(f"{name}: {verdict} in {result.seconds:.0f} s", flush=True)
    if not result.is_good:
        print(report.failures([result]), flush=True)
    return result


def show(results: list[Result], given: argparse.Namespace) -> None:
    """The tables, the figures, what was found, and the JSON."""
    if not results:
        return
    print(f"\n{report.tables(results)}\n\n{report.figures(results)}\n")
    if found := report.failures(results):
        print(found)
    path = (
        given.json or RESULTS / f"{given.size}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.json"
    )
    report.save(results, path)
    if given.page:
        report.page(results, given.page, "make soak" if given.size == "soak" else "make faults")
    print(f"written to {path}")


if __name__ == "__main__":
    sys.exit(main())
