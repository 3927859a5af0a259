"""Runs schedules from a shell: `python -m tests.schedules --schedules 1000 --seed 1`. See README.md."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from .scheduler import play, shrink
from .stage import temporary_stage
from .steps import draw_schedule


def main() -> int:
    """Run as many schedules as are asked for; print what failed, shrunk, and how fast it went."""
    options = read_options()
    began, failures, printed_at = time.monotonic(), Counter[str](), time.monotonic()
    seeds = range(options.seed, options.seed + options.schedules)
    with temporary_stage(options.binaries) as stage:
        for count, seed in enumerate(seeds, 1):
            steps = draw_schedule(seed, large=options.large)
            failure = next(filter(None, (play(stage, steps) for _ in range(options.tries))), None)
            if failure is not None:
                failures[failure.rule] += 1
                print(f"\nseed {seed} broke the contract")
                if failures[failure.rule] <= options.shrink:
                    failure = shrink(stage, failure, seconds=options.shrink_seconds)
                    print(failure)
                else:
                    print(f"VIOLATION of {failure.text}")
                if sum(failures.values()) >= options.failures:
                    break
            if time.monotonic() - printed_at > 10:
                printed_at = time.monotonic()
                print(
                    f"{count} schedules, {count / (printed_at - began):.1f} per second, {dict(failures)}",
                    flush=True,
                )
    took = time.monotonic() - began
    print(
        f"{count} schedules from seed {options.seed} in {took:.0f} s, {count / took:.1f} per second"
    )
    print(f"broken: {dict(failures)}" if failures else "the contract was kept")
    return 1 if failures else 0


def read_options() -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="schedules", description="Run random schedules against the contract."
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the first schedule (default 1)"
    )
    parser.add_argument(
        "--schedules", type=int, default=1, help="number of schedules, one seed each (default 1)"
    )
    parser.add_argument(
        "--tries", type=int, default=1, help="times to run each schedule (default 1)"
    )
    parser.add_argument(
        "--failures", type=int, default=10, help="stop after this number of failures (default 10)"
    )
    parser.add_argument(
        "--shrink",
        type=int,
        default=1,
        help="failures of each rule to shrink and print (default 1)",
    )
    parser.add_argument(
        "--shrink-seconds", type=float, default=30, help="time limit for shrinking one failure"
    )
    parser.add_argument(
        "--large",
        action="store_true",
        default=None,
        help="only schedules with thousands of messages",
    )
    parser.add_argument(
        "--binaries",
        help="folder of another PostgreSQL: /usr/lib/postgresql/15/bin (default: the embedded 18)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
