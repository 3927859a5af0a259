"""Shows what the schedules find: small random changes of the engine's functions, each run until a schedule fails.

    python -m tests.schedules.mutants --mutants 60 --seed 1
    python -m tests.schedules.mutants --named

A mutant is drawn from a seed, not chosen by hand: one place in one function that the queue's calls lead to.
Schedules that call the function most come first. One that fails with the functions as they are is left out.
What was found is kept in a file, and a run that was stopped goes on from there.
`--named` puts the defects back instead that the tests under tests/database/edges were written for.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from lonnymq.client.installation import sql_files

from .scheduler import Failure, play
from .stage import Stage, temporary_stage
from .steps import Drawer, draw_schedule
from .worlds import restored

ROOTS = (
    "message_create", "message_create_many", "message_announce", "message_dequeue", "message_complete",
    "message_defer", "message_fail", "message_heartbeat", "message_cancel", "message_purge", "dead_redrive",
    "channel_set", "channel_pause", "channel_resume", "channel_retire", "queue_set",
    "claim_take", "claim_read", "claim_decide", "claim_acknowledge", "claim_release", "claim_renew",
)  # fmt: skip
# What the contract says nothing about: rejections of bad arguments, the clock, durability, history, samples, roles.
LEFT_OUT = re.compile(
    r"guard_|stream_guard|epoch|commit_|error_group|channel_permitted|history_|sample_|queue_stamp"
    r"|queue_generation|queue_is_restored|consumer_terminate_stuck"
)
# The same inside of functions: comments, errors, and what is called there.
SILENT = re.compile(
    r"--[^\n]*|'[^'\n]*'|raise exception [^;]+;|perform lonnymq\.(?:guard_|commit_|stream_guard)[^;]+;"
    r"|if [^;]+ then\s+perform lonnymq\.guard_|perform set_config[^;]+;|[^\n]*history[^\n]*|[^\n]*clock_timestamp[^\n]*"
    r"|if current_user[^;]+;|if [^;]+ then\s+raise exception|for v_bad in[^;]+loop|select [^;]+ into v_bad[^;]+;"
)
CALL = re.compile(r"\blonnymq\.(\w+)\s*\(")
SWAPS = {
    " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " and ": " or ", " + 1": " - 1", " - 1": " + 1",
    " is null": " is not null", " is not null": " is null",
}  # fmt: skip
LOCK = re.compile(r"\s+for (?:no key )?update(?: of \w+)?(?: skip locked)?")
CONJUNCT = re.compile(r"^(\s*)and ([^()\n]|\([^()\n]*\))+$", re.MULTILINE)
CONDITION = re.compile(r"\b(if|elsif) ([^;]+?)(\s+then\b)")
STATEMENT = re.compile(r"^( +)(perform|delete|update|insert) [^;]+;$", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """A changed function."""

    function: str
    line: int
    change: str
    text: str

    @property
    def key(self) -> str:
        """What it is known by from run to run."""
        return f"{self.function} {self.line} {self.change}"


def reachable(files: dict[str, str]) -> list[str]:
    """The functions that the queue's calls lead to."""
    found, todo = set(), list(ROOTS)
    while todo:
        name = todo.pop()
        if name in files and name not in found:
            found.add(name)
            todo += CALL.findall(files[name])
    return sorted(name for name in found if not LEFT_OUT.match(name))


def places(text: str) -> Iterator[tuple[int, int, str]]:
    """All changes of a function's body: from where to where, and what is put there instead."""
    body = text.find("$$")
    end = text.find("$$", body + 2)
    for old, new in SWAPS.items():
        for match in re.finditer(re.escape(old), text):
            yield match.start(), match.end(), new
    for pattern in (LOCK, CONJUNCT):
        for match in pattern.finditer(text):
            yield match.start(), match.end(), ""
    for match in CONDITION.finditer(text):
        yield match.start(), match.end(), f"{match[1]} not ({match[2]}){match[3]}"
    for match in STATEMENT.finditer(text):
        if body < match.start() < end:
            yield match.start(), match.end(), f"{match[1]}null;"


def mutants(files: dict[str, str], seed: int) -> Iterator[Mutant]:
    """Mutants without end, in the order of a seed: every function is as likely as its number of places."""
    every = []
    for name in reachable(files):
        text = files[name]
        silent = [(m.start(), m.end()) for m in SILENT.finditer(text)]
        header = text.find("$$")
        end = text.find("$$", header + 2)
        for place in places(text):
            word = re.compile(r"\S").search(text, place[0])
            at = word.start() if word else end
            if header < at < end and not any(a <= at < b for a, b in silent):
                every.append((name, place))
    Random(seed).shuffle(every)
    for name, (start, end, new) in every:
        text = files[name]
        old = " ".join(text[start:end].split())
        change = f"{old[:60]} -> {' '.join(new.split())[:60] or 'nothing'}"
        yield Mutant(name, text.count("\n", 0, start) + 1, change, text[:start] + new + text[end:])


def compiles(stage: Stage, mutant: Mutant) -> bool:
    """Install a mutant; whether PostgreSQL takes it."""
    try:
        stage.control.execute(mutant.text.encode(), prepare=False)
    except psycopg.Error:
        return False
    return True


# The defects of docs/decisions/engine-edges.md, as close as they fit into the engine of today.
NAMED = {
    "a tick of another cluster is believed": (
        "checkpoint_now", "t.xmin = t.made_by::xid as is_own", "t.id is not null as is_own"),
    "one fold takes back all leases": ("lease_reclaim", "10000, 500)", "1000000, 1000000)"),
    "a mark claims more than was looked at": (
        "fold_run", "v_checkpoint.lease_mark := v_expired.mark", "v_checkpoint.lease_mark := p_now"),
    "a lease that is noted late is not looked for": ("fold_run", ", v_leases.first_at - 1)", ")"),
    "a pause is obeyed when it is folded": ("ring_seats", "coalesce(s.paused, false)", "false"),
    "a lowered limit is obeyed when it is folded": (
        "ring_seats", "row(\n      case when s.name is null then c.max", "row(\n      case when true then c.max"),
    "a quiet note waits although its channel has moved": ("engine_state", "(t.has_moved and", "(false and"),
    "pending notes are not read": ("change_pending", "if v_count >=", "p_walk.pending := null; if v_count >="),
    "an old snapshot leaves no count": (
        "message_create_one", "v_is_sized::integer, 1 - v_is_sized::integer", "(max_size is not null)::integer, 0"),
    "a first limit counts in the middle of dequeues": (
        "limit_must_wait", "where coalesce(w.dequeues, v_running) && v_running", "where false"),
    "completions keep history without partitions": (
        "history_extend", "in share update exclusive mode nowait", "in share row exclusive mode nowait"),
    "an older snapshot decides who is notified": (
        "queue_notify", "if lonnymq.snapshot_is_fixed() then",
        "if current_setting('transaction_isolation') = 'serializable' then"),
    "a message in the gap is passed over": (
        "channel_apply_changes", "case when i.next_at is not null then array[i.next_at, i.next_id] end", "null"),
    "a claim uses its token again": (
        "claim_take", "  v_walk := lonnymq.walk_fold(", "  v_part_token := v_token; v_walk := lonnymq.walk_fold("),
}  # fmt: skip

RESTORED = {"a tick of another cluster is believed"}
LARGE = {"one fold takes back all leases"}
# What the schedules are about that show a defect; most of the calls of its function would not.
ABOUT = {
    "a mark claims more than was looked at": "expiry",
    "pending notes are not read": "overtaking",
    "a lease that is noted late is not looked for": "time",
    "a pause is obeyed when it is folded": "beside",
    "a lowered limit is obeyed when it is folded": "beside",
    "a quiet note waits although its channel has moved": "overtaking",
    "an old snapshot leaves no count": "capacity",
    "a first limit counts in the middle of dequeues": "limits",
    "a claim uses its token again": "claims",
    "completions keep history without partitions": "releases",
    "an older snapshot decides who is notified": "sleep",
    "a message in the gap is passed over": "expiry",
}


def named(files: dict[str, str]) -> Iterator[Mutant]:
    """The defects of old."""
    for name, (function, old, new) in NAMED.items():
        text = files[function]
        if text.count(old) != 1:
            raise ValueError(f"{name}: {old!r} is {text.count(old)} times in {function}")
        yield Mutant(
            function, text[: text.index(old)].count("\n") + 1, name, text.replace(old, new)
        )


CALLS = "select funcname, sum(calls)::bigint from pg_stat_user_functions group by 1"


def cover(stage: Stage, seeds: range) -> dict[int, Counter[str]]:
    """How often each schedule calls each function; without the schedules that fail as it is."""
    for connection in (*stage.sessions.values(), stage.control):
        connection.execute("set track_functions = 'all'")
    found, before = {}, Counter[str]()
    for seed in seeds:
        is_kept = play(stage, draw_schedule(seed, large=False)) is None
        for connection in (*stage.sessions.values(), stage.control):
            connection.execute("select pg_stat_force_next_flush()")
        calls = Counter[str](dict(stage.control.execute(CALLS.encode()).fetchall()))
        if is_kept:
            found[seed] = calls - before
        before = calls
    for connection in (*stage.sessions.values(), stage.control):
        connection.execute("set track_functions = 'none'")
    return found


def kept_coverage(stage: Stage, schedules: int, file: Path) -> dict[int, Counter[str]]:
    """The same from a file, unless schedules, scheduler or functions have changed since."""
    sources = [path.read_text() for path in sorted(Path(__file__).parent.glob("*.py"))]
    text = "".join([str(schedules), *sources, *sql_files("functions").values()])
    digest = sha256(text.encode()).hexdigest()
    if file.exists() and (kept := json.loads(file.read_text()))["digest"] == digest:
        return {int(seed): Counter(calls) for seed, calls in kept["calls"].items()}
    found = cover(stage, range(1, schedules + 1))
    calls = {
        seed: {name: int(number) for name, number in each.items()} for seed, each in found.items()
    }
    file.write_text(json.dumps({"digest": digest, "calls": calls}))
    return found


def travel(mutant: Mutant, seconds: float) -> tuple[int, Failure] | None:
    """Run schedules with a restore in the middle until one fails."""
    began = time.monotonic()

    def spoil(connection: psycopg.Connection[Any]) -> None:
        connection.execute(mutant.text.encode(), prepare=False)

    with restored(spoil=spoil) as journey:
        for seed in count(1):
            if failure := journey(seed):
                return seed, failure
            if time.monotonic() - began > seconds:
                return None
    return None


def is_about(seed: int, theme: str | None) -> bool:
    """Whether a schedule has a theme; without one, whether thousands of leases are over at once in a large one."""
    if theme:
        return Drawer(seed, large=False).theme == theme
    steps = [step.op for step in draw_schedule(seed, large=True)]
    return ["bulk", "grab", "clock", "dequeue"] in [steps[at : at + 4] for at in range(len(steps))]


def hunt(
    stage: Stage, mutant: Mutant, original: str, coverage: dict[int, Counter[str]], seconds: float
) -> tuple[int, Failure] | None:
    """Run schedules until one fails that does not fail without the mutant: those first that call the function most."""
    began, function = time.monotonic(), mutant.function
    ranked: Iterable[int] = sorted(coverage, key=lambda seed: -coverage[seed][function])
    if any(coverage[seed][function] for seed in ranked):
        ranked = [seed for seed in ranked if coverage[seed][function]]
    is_large, theme = mutant.change in LARGE, ABOUT.get(mutant.change)
    if is_large or theme:
        ranked = (seed for seed in count(1) if is_about(seed, theme))
    for seed in ranked:
        if failure := play(
            stage, draw_schedule(seed, large=is_large), seconds=900 if is_large else 60
        ):
            stage.control.execute(original.encode(), prepare=False)
            if play(stage, draw_schedule(seed, large=is_large)) is None:
                return seed, failure
            stage.control.execute(mutant.text.encode(), prepare=False)
        if time.monotonic() - began > seconds:
            break
    return None


def main() -> int:
    """Print a row for each mutant; the exit status is the number of those that survived."""
    options = read_options()
    files = sql_files("functions")
    kept = Path(options.file or f"/tmp/mutants-{options.seed}.jsonl")
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    if options.again:
        rows = [row for row in rows if row["is_found"]]
        kept.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = {row["key"] for row in rows}
    drawn = named(files) if options.named else mutants(files, options.seed)
    with temporary_stage() as stage:
        coverage = kept_coverage(stage, options.schedules, kept.with_suffix(".calls.json"))
        left_out = options.schedules - len(coverage)
        print(f"{left_out} of {options.schedules} schedules fail without a mutant", flush=True)
        for mutant in drawn:
            if len(done) >= options.mutants:
                break
            if options.functions and mutant.function not in options.functions.split(","):
                continue
            if mutant.key in done or not compiles(stage, mutant):
                continue
            done.add(mutant.key)
            row = examine(stage, mutant, files[mutant.function], coverage, options.seconds)
            stage.control.execute(files[mutant.function].encode(), prepare=False)
            rows.append(row)
            with kept.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(row["row"], flush=True)
    print("| function | line | change | found |\n| --- | --- | --- | --- |")
    print("\n".join(row["row"] for row in rows))
    survived = sum(not row["is_found"] for row in rows)
    print(f"{len(rows) - survived} of {len(rows)} mutants found")
    return min(survived, 100)


def examine(
    stage: Stage, mutant: Mutant, original: str, coverage: dict[int, Counter[str]], seconds: float
) -> dict[str, object]:
    """What became of one mutant."""
    began = time.monotonic()
    is_restored = mutant.change in RESTORED
    found = (
        travel(mutant, seconds) if is_restored else hunt(stage, mutant, original, coverage, seconds)
    )
    took = f"{time.monotonic() - began:.0f} s"
    results = f"seed {found[0]}, {found[1].rule}, {took}" if found else f"SURVIVED, {took}"
    row = f"| {mutant.function} | {mutant.line} | `{mutant.change}` | {results} |"
    text = found[1].text if found else ""
    return {"key": mutant.key, "is_found": found is not None, "row": row, "text": text[:500]}


def read_options() -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="mutants", description="Change the engine at random and look who notices."
    )
    for name, default, text in (
        ("mutants", 60, "number of mutants"),
        ("seed", 1, "seed that the mutants are drawn from"),
        ("schedules", 200, "schedules to choose from for each mutant"),
        ("seconds", 25, "time limit for each mutant"),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=default, help=f"{text} (default {default})"
        )
    parser.add_argument("--file", help="where results are kept (default /tmp/mutants-SEED.jsonl)")
    parser.add_argument(
        "--functions", help="draw from these functions only, for example walk_take,walk_one"
    )
    parser.add_argument(
        "--again", action="store_true", help="examine those once more that survived before"
    )
    parser.add_argument(
        "--named", action="store_true", help="put known defects back instead of drawing"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
