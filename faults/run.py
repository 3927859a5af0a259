"""One run of one scenario: its seed and sizes, its folder, what it counts, and the verdict in the end."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from faults.call_log import CallLog
from faults.checker import Violation, run_checks, tell_story
from faults.environment import Environment, open_environment
from faults.observations import Observations, collect_observations
from faults.processes import ProcessGroup
from faults.variants import VARIANTS, Variant

Seen = TypeVar("Seen")
MOST_STORIES = 3
LOSSY = (
    "lost",
    "unfounded",
    "extra",
    "phantoms",
    "doubly completed",
)  # what a standby had not received


@dataclass
class Result:
    """What came of a run."""

    scenario: str
    size: str
    seed: int
    seconds: float = 0.0
    messages: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    found: dict[str, list[Violation]] = field(default_factory=dict)
    recovery: float | None = None
    figures: dict[str, Any] = field(default_factory=dict)
    stories: list[list[str]] = field(default_factory=list)

    @property
    def violations(self) -> list[Violation]:
        """Everything that must not be."""
        return [each for one in self.found.values() for each in one]

    @property
    def is_good(self) -> bool:
        """Whether nothing was found."""
        return not self.violations


class Run:
    """A scenario at work. It asserts by `require`, measures by `figures`, and ends in `check_result`."""

    def __init__(
        self,
        scenario: str,
        size: str,
        seed: int,
        sizes: dict[str, Any],
        *,
        quiet: bool,
        variant: str | None = None,
    ) -> None:
        self.seed, self.sizes, self.is_quiet = seed, sizes, quiet
        self.size, self.variant = size, variant
        self.result = Result(scenario, size, seed)
        self.folder = Path(tempfile.mkdtemp(prefix=f"faults-{scenario}-"))
        self.processes = ProcessGroup(self.folder, variant)
        self.call_log = CallLog(self.folder / "calls" / "harness.jsonl")
        self.began = time.monotonic()
        self.strict = size != "test"  # bounds on time hold for a machine that does nothing else

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["sizes"][name]
        except KeyError:
            raise AttributeError(name) from None

    @contextmanager
    def open_environment(self, **settings: Any) -> Iterator[Environment]:
        """An environment for this run; where the run has a known-bad variant, it is put in."""
        variant = VARIANTS.get(self.variant or "", Variant())
        with open_environment(
            self.call_log, bin_dir=self.sizes.get("bin_dir"), **{**settings, **variant.settings}
        ) as made:
            with made.connect() as connection:
                for statement in variant.statements:
                    connection.execute(statement.encode())
            yield made

    def log(self, text: str) -> None:
        """Show how it goes."""
        if not self.is_quiet:
            print(
                f"  {self.result.scenario} {time.monotonic() - self.began:6.1f} s  {text}",
                flush=True,
            )

    def count_fault(self, kind: str, times: int = 1) -> None:
        """Count a fault."""
        self.result.faults[kind] += times

    def add_violation(self, kind: str, detail: str, id_: int | None = None) -> None:
        """Something is not as it must be."""
        self.result.found.setdefault(kind, []).append(Violation(kind, detail, id_))

    def require(self, holds: object, kind: str, detail: str) -> None:
        """A condition of this scenario."""
        if not holds:
            self.add_violation(kind, detail)

    def require_within(self, bound: float, seconds: float, what: str) -> None:
        """A bound on time: a violation where the machine is ours, a figure where it is not."""
        self.record_recovery(seconds)
        if self.strict:
            self.require(
                seconds <= bound, "late", f"{what} took {seconds:.2f} s, allowed {bound:.2f} s"
            )

    def record_recovery(self, seconds: float) -> None:
        """Remember the slowest recovery."""
        self.result.recovery = max(self.result.recovery or 0.0, seconds)

    def wait_until(self, look: Callable[[], Seen], *, seconds: float, what: str) -> Seen | None:
        """Look until it is true; say so and go on if it does not come true."""
        deadline = time.monotonic() + seconds
        printed_at = time.monotonic()
        while True:
            seen = None
            with suppress(psycopg.OperationalError, psycopg.InterfaceError, OSError):
                seen = look()
            if seen:
                return seen
            if time.monotonic() > deadline:
                self.add_violation("late", f"{what}: not within {seconds:.0f} s")
                return None
            if time.monotonic() - printed_at > 5:
                printed_at = time.monotonic()
                self.log(f"waiting: {what}")
            time.sleep(0.02)

    def wait_until_workers_are_back(self, since: float, *, seconds: float = 60) -> float:
        """Wait until every worker has got an answer after a moment, and return how many seconds that took."""
        paths = [
            self.folder / "calls" / f"{each.name}.jsonl"
            for each in self.processes.with_role("worker")
        ]
        self.wait_until(
            lambda: all(was_answered(path, since) for path in paths),
            seconds=seconds,
            what="all workers are back",
        )
        return time.time() - since / 1000

    def wait_until_work_begins(self, environment: Environment) -> None:
        """Wait until the first messages are done."""
        done = "select exists (select from lonnymq.history)"
        self.wait_until(lambda: environment.values(done)[0], seconds=60, what="work begins")

    def wait_until_drained(self, environment: Environment, *, seconds: float) -> None:
        """Wait until nothing is left to run."""
        seconds = self.sizes.get("timeout", seconds)
        began = time.monotonic()
        self.wait_until(
            environment.is_drained,
            seconds=seconds,
            what="everything drains",
        )
        self.result.figures["drained in s"] = round(time.monotonic() - began, 1)

    def check_result(
        self, environment: Environment, *, lossy: bool = False, leave_out: tuple[str, ...] = ()
    ) -> Observations:
        """Gather and check; what an asynchronous failover loses is counted, and no fault."""
        self.log("checking")
        for row in environment.queue.check():
            self.add_violation("queue_check", f"{row}", row.message_id)
        for repair in environment.queue.repair():
            self.add_violation("queue_repair", f"{repair}")
        observed = collect_observations(self.folder / "calls", environment.dsn)
        result = self.result
        result.messages += sum(len(each.ids) for each in observed.creates.values())
        for name, found in run_checks(observed).items():
            if name in leave_out:
                continue
            if lossy and name in LOSSY:
                result.figures[f"{name}, with the old server"] = len(found)
                found = []
            result.found[name] = [*result.found.get(name, []), *found]
        self.keep_stories(observed)
        result.figures |= dict(sorted(observed.calls.items()))
        return observed

    def keep_stories(self, observed: Observations) -> None:
        """Keep the histories of the first messages concerned."""
        concerned = dict.fromkeys(each.id for each in self.result.violations if each.id is not None)
        self.result.stories += [tell_story(observed, id_) for id_ in list(concerned)[:MOST_STORIES]]

    def finish(self) -> Result:
        """End all processes; keep the folder if something is wrong."""
        self.processes.terminate()
        self.result.seconds = round(time.monotonic() - self.began, 1)
        if self.result.is_good:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self.result.figures["kept"] = str(self.folder)
        return self.result


@contextmanager
def running_processes(run: Run) -> Iterator[ProcessGroup]:
    """The run's processes, ended with the block: before its server goes."""
    try:
        yield run.processes
    finally:
        run.processes.terminate()


def was_answered(path: Path, since: float) -> bool:
    """Whether a process has written down an answer from the database after a moment."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 40_000))
        tail = file.read().splitlines()
    return any(b'"phase":"ok"' in line and read_time(line) > since for line in tail)


def read_time(line: bytes) -> float:
    """The time of a record; 0 of a torn one."""
    try:
        return float(line.split(b'"t":', 1)[1].split(b",", 1)[0])
    except (IndexError, ValueError):
        return 0.0
