"""The goals of a run: ratios between two entries of one run, or a figure by itself, each with its bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.record import Case, Entry, Record
from benchmarks.summary_statistics import median, ratios_by_round

COUNTS = (1, 100, 10_000)
OURS, OFF = "lonnymq", "lonnymq history off"
ARCHIVE, POOLED, DELETE = "pgmq archive", "pgmq pooled", "pgmq delete"
CHANNEL_TABLE = "channel table"
GROWTH_ENDS = {  # the ends of a full run, then those of a quick one
    "channels": ((10, 100_000), (10, 10_000)),
    "channels of one message": ((10, 100_000), (10, 10_000)),
    "waiting": ((1_000, 5_000_000), (1_000, 200_000)),
    "in the future": ((0, 1_000_000), (0, 100_000)),
    "saturated channels": ((0, 10_000), (0, 1_000)),
}
Sense = Literal["at least", "at most"]


@dataclass(frozen=True)
class Goal:
    """A bound on ours over theirs, or on ours alone."""

    scenario: str
    text: str
    ours: tuple[str, Case]
    theirs: tuple[str, Case] | None
    sense: Sense
    bound: float
    unit: str = "×"  # noqa: RUF001 - times

    def verdict(self, record: Record) -> dict[str, Any]:
        """The figure that the run found, and whether it is within the bound."""
        values = self.values(record)
        value = median(values) if values else None
        return {
            "scenario": self.scenario,
            "goal": f"{self.text} {self.sense} {self.bound:g}{self.unit}",
            "value": value,
            "least": min(values, default=None),
            "most": max(values, default=None),
            "unit": self.unit,
            "verdict": self.judge(value),
        }

    def values(self, record: Record) -> list[float]:
        ours = self.entry(record, self.ours)
        if self.theirs is None:
            return ours.samples if ours else []
        theirs = self.entry(record, self.theirs)
        return ratios_by_round(ours.samples, theirs.samples) if ours and theirs else []

    def entry(self, record: Record, where: tuple[str, Case]) -> Entry | None:
        system, case = where
        return record.find(self.scenario, case, system)

    def was_tried(self, record: Record) -> bool:
        """Whether the run asked both for it; one that was asked and failed leaves the goal not measured."""
        sides = [self.ours] if self.theirs is None else [self.ours, self.theirs]
        return all(self.entry(record, side) is not None for side in sides)

    def judge(self, value: float | None) -> str:
        if value is None:
            return "not measured"
        within = value >= self.bound if self.sense == "at least" else value <= self.bound
        return "ok" if within else "not reached"


def speed_goal(
    scenario: str, case: Case, peer: str, peer_case: Case, bound: float, *, ours: str = OURS
) -> Goal:
    described = ", ".join(
        f"{key} {value:,}" if isinstance(value, int) else f"{key} {value}"
        for key, value in case.items()
    )
    return Goal(
        scenario,
        f"{scenario}, {described}: {ours} ÷ {peer}",
        (ours, case),
        (peer, peer_case),
        "at least",
        bound,
    )


def speed_goals() -> list[Goal]:
    """Scenarios (a), (b) and (c)."""
    goals = [
        speed_goal("create", {"batch": batch}, peer, {"batch": batch}, bound)
        for batch, bound in ((1, 1.3), (100, 1.2))
        for peer in (POOLED, ARCHIVE)
    ]
    for count in COUNTS:
        case, any_case = {"batch": 100, "channels": count}, {"batch": 100, "channels": "any"}
        goals += [
            speed_goal("drain", case, ARCHIVE, any_case, 1.0),
            speed_goal("drain", case, DELETE, any_case, 1.0, ours=OFF),
            speed_goal("drain", case, "PgQueuer", any_case, 4),
            speed_goal("drain", case, "Procrastinate", any_case, 50),
            speed_goal("drain", case, CHANNEL_TABLE, case, 10),
        ]
    for scenario in ("drain", "steady"):
        batch: Case = {"batch": 1} if scenario == "drain" else {}
        for count in COUNTS:
            case, any_case = {**batch, "channels": count}, {**batch, "channels": "any"}
            goals += [speed_goal(scenario, case, peer, any_case, 1.2) for peer in (POOLED, ARCHIVE)]
            if scenario == "drain":
                goals.append(speed_goal(scenario, case, DELETE, any_case, 1.2, ours=OFF))
        one = {**batch, "channels": 1}
        goals.append(speed_goal(scenario, one, CHANNEL_TABLE, one, 8))
    return goals


def growth_goals() -> list[Goal]:
    """Scenario (f): the far end of each axis against its near end, p99."""
    goals = []
    for axis, ends in GROWTH_ENDS.items():
        for near, far in ends:
            goals.append(
                Goal(
                    "growth",
                    f"growth, p99 of a dequeue at {far:,} ÷ at {near:,} {axis}",
                    (OURS, {"axis": axis, "size": far, "percentile": "p99"}),
                    (OURS, {"axis": axis, "size": near, "percentile": "p99"}),
                    "at most",
                    1.3,
                )
            )
    return goals


def fairness_and_latency_goals() -> list[Goal]:
    """Scenarios (d), (e), (g) and memory."""
    beside = {"who": "quiet, beside a flood", "percentile": "p99"}
    alone = {"who": "quiet, alone", "percentile": "p99"}
    even = {"who": "all backlogged", "percentile": "Jain"}
    half, far = {"percentile": "p50"}, {"percentile": "p99"}
    goals = [
        Goal(
            "noisy",
            "noisy neighbour, quiet p99 beside a flood ÷ alone",
            (OURS, beside),
            (OURS, alone),
            "at most",
            1.2,
        ),
        Goal("noisy", "noisy neighbour, Jain's index", (OURS, even), None, "at least", 0.99, ""),
        Goal("latency", "latency, idle, p50", (OURS, half), None, "at most", 5, " ms"),
        Goal("latency", "latency, idle, p99", (OURS, far), None, "at most", 20, " ms"),
        Goal(
            "latency",
            "latency, idle, p50: lonnymq ÷ PgQueuer",
            (OURS, half),
            ("PgQueuer", half),
            "at most",
            1,
        ),
        Goal(
            "latency",
            "latency, idle, p99: lonnymq ÷ PgQueuer",
            (OURS, far),
            ("PgQueuer", far),
            "at most",
            1,
        ),
    ]
    for what in ("kept", "drain after"):
        held, free = {"reader": "open", "what": what}, {"reader": "none", "what": what}
        described = {"kept": "rate kept", "drain after": "drain at the end"}[what]
        goals.append(
            Goal(
                "snapshot",
                f"held snapshot, {described}, with ÷ without",
                (OURS, held),
                (OURS, free),
                "at least",
                0.9,
            )
        )
    first, last = {"when": "second tenth"}, {"when": "last tenth"}
    goals.append(
        Goal(
            "memory",
            "memory of a consumer, last ÷ second tenth",
            (OURS, last),
            (OURS, first),
            "at most",
            1.05,
        )
    )
    return goals


def limit_goals() -> list[Goal]:
    """The scenario limits: against the same drain without a limit, and the slots' own time."""
    bounds = {
        100: {"concurrency": 0.85, "rate": 0.85, "both": 0.85, "queue": 0.8},
        1: {"concurrency": 0.9, "rate": 0.9, "both": 0.9, "queue": 0.8},
    }
    return [
        *(
            Goal(
                "limits",
                f"limits, batch {batch}: {limits} ÷ none",
                (OURS, {"batch": batch, "limits": limits}),
                (OURS, {"batch": batch, "limits": "none"}),
                "at least",
                bound,
            )
            for batch, cases in bounds.items()
            for limits, bound in cases.items()
        ),
        *(
            Goal(
                "limits",
                f"limits, {channels} channels with 2 slots, {work} of work: slot time used",
                ("lonnymq worker", {"channels with 2 slots": channels, "work": work}),
                None,
                "at least",
                95,
                " %",
            )
            for channels, work in ((10, "5 ms"), (100, "50 ms"))
        ),
    ]


def spark_goals() -> list[Goal]:
    """The scenario spark: against Spark's own JDBC, COPY and plain workers, by name of what was done."""
    write, read = {"what": "write"}, {"what": "history to Parquet"}
    stream, handlers = {"what": "stream to Parquet"}, {"what": "no-op handlers"}
    jdbc = "Spark JDBC"
    asked = (
        ("lonnymq", write, jdbc, 0.9),
        ("lonnymq", read, jdbc, 1.4),
        ("lonnymq", stream, "COPY", 0.267),
        ("lonnymq on executors", handlers, "plain workers", 0.8),
    )
    memory = {"what": "memory of a stream's driver"}
    first, second = ("first half", memory), ("second half", memory)
    return [
        *(
            Goal(
                "spark",
                f"{case['what']}: {ours} ÷ {theirs}",
                (ours, case),
                (theirs, case),
                "at least",
                bound,
            )
            for ours, case, theirs, bound in asked
        ),
        Goal("spark", f"{memory['what']}: second half ÷ first", second, first, "at most", 1.1),
    ]


def worker_goals() -> list[Goal]:
    """The scenario worker: against the workers of others, with handlers that do nothing."""
    case, ours = {"handler": "no-op"}, "lonnymq worker"
    return [
        speed_goal("worker", case, "PgQueuer", case, 3, ours=ours),
        speed_goal("worker", case, "Procrastinate", case, 30, ours=ours),
    ]


def lake_goals() -> list[Goal]:
    """The scenario lake: against Spark's own JDBC into Parquet."""
    what: Case = {"what": "history to the lake"}
    ours, theirs = "lonnymq lake sync", "Spark JDBC"
    text = f"{what['what']}: {ours} ÷ {theirs}"
    return [Goal("lake", text, (ours, what), (theirs, what), "at least", 1.4)]


def simulate_goals() -> list[Goal]:
    """The scenario simulate: what one core replays, and what a second executor brings."""
    one, two = {"executors": 1}, {"executors": 2}
    cases: list[Case] = [
        {"workload": workload, "limits": limits}
        for workload in ("steady", "backlog", "noisy")
        for limits in ("none", "concurrency", "rate")
    ]
    return [
        *(
            Goal(
                "simulate",
                f"messages/s of a core, {case['workload']}, limits: {case['limits']},",
                (OURS, case),
                None,
                "at least",
                300_000,
                "/s",
            )
            for case in cases
        ),
        Goal(
            "simulate", "a sweep on two executors ÷ one", (OURS, two), (OURS, one), "at least", 1.7
        ),
    ]


def analytics_goals() -> list[Goal]:
    """The scenario analytics: memory, time by rows, what a day costs, and what a second core brings.

    Entries are rates: what one costs beside another is the other's rate over its own.
    """

    def case(what: str, rows: str = "all") -> tuple[str, Case]:
        return OURS, {"what": what, "rows": rows}

    def on(cores: str) -> tuple[str, Case]:
        return OURS, {"what": "on a cluster", "on": cores}

    def goal(text: str, ours: Any, theirs: Any, sense: Sense, bound: float) -> Goal:
        return Goal("analytics", f"analytics, {text}", ours, theirs, sense, bound)

    whole, fifth = case("all days"), case("all days", "a fifth")
    small, small_in_fifth = case("a small day"), case("a small day", "a fifth")
    large = case("a day of five times the rows")
    memory = case("memory: all days")
    return [
        Goal("analytics", "analytics, memory", memory, None, "at most", 6, " GiB"),
        goal("rows/s of all rows ÷ of a fifth", whole, fifth, "at least", 0.9),
        goal("time of a day in the lake ÷ in a fifth of it", small_in_fifth, small, "at most", 1.3),
        goal("time of a row in a day ÷ in one a fifth as large", small, large, "at most", 1.1),
        goal(
            "rows/s with two cores ÷ one, on a cluster",
            on("two cores"),
            on("one core"),
            "at least",
            1.2,
        ),
    ]


GOALS = [
    *(speed_goals() + growth_goals() + fairness_and_latency_goals() + limit_goals()),
    *(worker_goals() + spark_goals() + lake_goals() + simulate_goals() + analytics_goals()),
]


def named_in_goals(scenario: str) -> set[str]:
    """The systems that the goals of a scenario name."""
    return {goal.theirs[0] for goal in GOALS if goal.scenario == scenario and goal.theirs}


def judge_goals(record: Record, scenarios: list[str]) -> list[dict[str, Any]]:
    """The verdict on every goal of whose cases the run tried both."""
    asked = [goal for goal in GOALS if goal.scenario in scenarios and goal.was_tried(record)]
    return [goal.verdict(record) for goal in asked]
