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

from faults.checker import Violation, check, story
from faults.processes import Crew
from faults.observations import Evidence, gather
from faults.call_log import Journal
from faults.environment import Stand, stand
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
    """A scenario at work. It asserts by `problem`, measures by `figures`, and ends in `judge`."""

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
        self.crew = Crew(self.folder, variant)
        self.journal = Journal(self.folder / "journal" / "harness.jsonl")
        self.began = time.monotonic()
        self.strict = size != "test"  # bounds on time hold for a machine that does nothing else

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["sizes"][name]
        except KeyError:
            raise AttributeError(name) from None

    @contextmanager
    def stand(self, **settings: Any) -> Iterator[Stand]:
        """A stand for this run; where the run has a known-bad variant, it is put in."""
        variant = VARIANTS.get(self.variant or "", Variant())
        with stand(
            self.journal, bin_dir=self.sizes.get("bin_dir"), **{**settings, **variant.settings}
        ) as made:
            with made.connect() as connection:
                for statement in variant.statements:
                    connection.execute(statement.encode())
            yield made

    def say(self, text: str) -> None:
        """Show how it goes."""
        if not self.is_quiet:
            print(
                f"  {self.result.scenario} {time.monotonic() - self.began:6.1f} s  {text}",
                flush=True,
            )

    def fault(self, kind: str, times: int = 1) -> None:
        """Count a fault."""
        self.result.faults[kind] += times

    def problem(self, kind: str, detail: str, id_: int | None = None) -> None:
        """Something is not as it must be."""
        self.result.found.setdefault(kind, []).append(Violation(kind, detail, id_))

    def must(self, holds: object, kind: str, detail: str) -> None:
        """A condition of this scenario."""
        if not holds:
            self.problem(kind, detail)

    def within(self, bound: float, seconds: float, what: str) -> None:
        """A bound on time: a violation where the machine is ours, a figure where it is not."""
        self.recovered(seconds)
        if self.strict:
            self.must(
                seconds <= bound, "late", f"{what} took {seconds:.2f} s, allowed {bound:.2f} s"
            )

    def recovered(self, seconds: float) -> None:
        """Remember the slowest recovery."""
        self.result.recovery = max(self.result.recovery or 0.0, seconds)

    def eventually(self, look: Callable[[], Seen], *, seconds: float, what: str) -> Seen | None:
        """Look until it is true; say so and go on if it does not come true."""
        deadline = time.monotonic() + seconds
        said = time.monotonic()
        while True:
            seen = None
            with suppress(psycopg.OperationalError, psycopg.InterfaceError, OSError):
                seen = look()
            if seen:
                return seen
            if time.monotonic() > deadline:
                self.problem("late", f"{what}: not within {seconds:.0f} s")
                return None
            if time.monotonic() - said > 5:
                said = time.monotonic()
                self.say(f"waiting: {what}")
            time.sleep(0.02)

    def drain(self, stand: Stand, *, seconds: float) -> None:
        """Wait until nothing is left to run."""
        seconds = self.sizes.get("patience", seconds)
        began = time.monotonic()
        self.eventually(
            stand.is_drained,
            seconds=seconds,
            what="everything drains",
        )
        self.result.figures["drained in s"] = round(time.monotonic() - began, 1)

    def judge(
        self, stand: Stand, *, lossy: bool = False, leave_out: tuple[str, ...] = ()
    ) -> Evidence:
        """Gather and check; what an asynchronous failover loses is counted, and no fault."""
        self.say("checking")
        for row in stand.queue.check():
            self.problem("queue_check", f"{row}", row.message_id)
        for repair in stand.queue.repair():
            self.problem("queue_repair", f"{repair}")
        evidence = gather(self.folder / "journal", stand.dsn)
        result = self.result
        result.messages += sum(len(each.ids) for each in evidence.creates.values())
        for name, found in check(evidence).items():
            if name in leave_out:
                continue
            if lossy and name in LOSSY:
                result.figures[f"{name}, with the old server"] = len(found)
                found = []
            result.found[name] = [*result.found.get(name, []), *found]
        self.tell(evidence)
        result.figures |= {f"calls {name}" if name != "calls" else name: each
                           for name, each in sorted(evidence.calls.items())}  # fmt: skip
        return evidence

    def tell(self, evidence: Evidence) -> None:
        """Keep the histories of the first messages concerned."""
        concerned = dict.fromkeys(each.id for each in self.result.violations if each.id is not None)
        self.result.stories += [story(evidence, id_) for id_ in list(concerned)[:MOST_STORIES]]

    def end(self) -> Result:
        """End all processes; keep the folder if something is wrong."""
        self.crew.end()
        self.result.seconds = round(time.monotonic() - self.began, 1)
        if self.result.is_good:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self.result.figures["kept"] = str(self.folder)
        return self.result


@contextmanager
def crew_of(run: Run) -> Iterator[Crew]:
    """The run's crew, ended with the block: before its server goes."""
    try:
        yield run.crew
    finally:
        run.crew.end()
