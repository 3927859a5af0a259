"""The command: `python -m benchmarks [--quick] [--only create,drain] [--peers lonnymq,pgmq] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.goals import judge_goals
from benchmarks.report import table
from benchmarks.report.__main__ import publish_report
from benchmarks.report.machine import describe_environment
from benchmarks.run import Run
from benchmarks.scenarios import APART, QUICK, QUICK_PEERS, SCENARIOS, run_scenarios
from benchmarks.server import running_server
from benchmarks.systems import SYSTEMS

RESULTS = Path(__file__).parent / "results"
NOT_INSTALLED = Path(sys.prefix) / "not-installed.json"  # left by virtual_environment.py


def parse_arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Compare LonnyMQ with other queues on the same server.",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="run fewer peers, scenarios and rounds, at most 3 minutes",
    )
    known = ", ".join((*SCENARIOS, *APART))
    parser.add_argument(
        "--only", default="", metavar="SCENARIO[,…]", help=f"run only these scenarios: {known}"
    )
    parser.add_argument(
        "--peers",
        default="",
        metavar="NAME[,…]",
        help=f"run only systems with names that start like this: {', '.join(SYSTEMS)}",
    )
    parser.add_argument(
        "--repeat",
        type=int,
        default=0,
        metavar="N",
        help="rounds of each case, default 3, or 2 with --quick",
    )
    parser.add_argument(
        "--json",
        default="",
        metavar="FILE",
        help="file for the samples, default a dated file in benchmarks/results",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=0.0,
        metavar="S",
        help="length of a sample, default 1.5, or 1 with --quick",
    )
    parser.add_argument(
        "--held",
        type=int,
        default=60,
        metavar="SECONDS",
        help="how long the reader of `snapshot` stays open, default 60",
    )
    parser.add_argument(
        "--rows",
        type=int,
        default=1_000_000,
        metavar="N",
        help="rows for `spark`, `lake` and `analytics`, default 1,000,000",
    )
    options = parser.parse_args(given)
    options.scenarios = choose_scenarios(parser, options)
    options.systems = choose_systems(parser, options)
    return options


def choose_scenarios(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[str]:
    if not options.only:
        return list(QUICK if options.quick else SCENARIOS)
    scenarios = [part.strip() for part in options.only.split(",")]
    if unknown := set(scenarios) - {*SCENARIOS, *APART}:
        there = ", ".join((*SCENARIOS, *APART))
        parser.error(f"unknown scenarios: {', '.join(sorted(unknown))}. Use any of {there}")
    return scenarios


def choose_systems(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[str]:
    if not options.peers:
        return list(QUICK_PEERS if options.quick else SYSTEMS)
    begins = tuple(part.strip().lower() for part in options.peers.split(","))
    peers = [name for name in SYSTEMS if name.lower().startswith(begins)]
    return peers or parser.error(f"no system has a name that starts with {options.peers}")


def main() -> int:
    options = parse_arguments()
    with running_server() as server:
        environment = describe_environment(server.dsn)
        rounds = options.repeat or (2 if options.quick else 3)
        seconds = options.seconds or (1.0 if options.quick else 1.5)
        run = Run(
            *(server, options.systems, rounds, options.quick, seconds),
            held_seconds=options.held,
            rows=options.rows,
        )
        try:
            broken = run_scenarios(options.scenarios, run)
        finally:
            run.close()
    report = {
        **environment,
        "minutes": round((time.monotonic() - run.started) / 60, 1),
        "scenarios": options.scenarios,
        "quick": options.quick,
        "rounds": run.repeat,
        "verdicts": judge_goals(run.record, options.scenarios),
        "broken_scenarios": broken,
        "not_installed": json.loads(NOT_INSTALLED.read_text()) if NOT_INSTALLED.exists() else {},
        "entries": [entry.as_json() for entry in run.record.entries],
    }
    print(table.render_report(report))
    path = write_samples(report, options)
    print(f"\nwritten: {path}, after {report['minutes']} minutes")
    if broken:
        return 1
    if name_run_kind(options) == "full":
        publish_report(path)
        print("docs/benchmarks.md and its pictures show this run")
    return 0


def name_run_kind(options: argparse.Namespace) -> str:
    """A full run is what the page shows."""
    return "quick" if options.quick else "part" if options.only or options.peers else "full"


def write_samples(report: dict[str, Any], options: argparse.Namespace) -> Path:
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    path = (
        Path(options.json) if options.json else RESULTS / f"{stamp}-{name_run_kind(options)}.json"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report) + "\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
