"""Shows what the schedules find: small random changes of the engine's functions, each run until a schedule fails.

    python -m tests.schedules.mutants --mutants 30 --seed 1 --schedules 300

A mutant is drawn from a seed, not chosen by hand: one place in one function that the queue's calls lead to.
A seed whose schedule fails with the functions as they are is left out.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import psycopg

from lonnymq.client.installation import sql_files

from .scheduler import Failure, play
from .stage import Stage, temporary_stage
from .steps import draw_schedule

ROOTS = (
    "message_create", "message_create_many", "message_announce", "message_dequeue", "message_complete",
    "message_defer", "message_fail", "message_heartbeat", "message_cancel", "channel_set", "channel_pause",
    "channel_resume", "queue_set",
)  # fmt: skip
# What the contract says nothing about: refusals of bad arguments, notifications, the clock.
LEFT_OUT = re.compile(r"guard_|epoch|queue_tell|channel_tell|commit_|error_group|channel_permitted")
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
        comments = [(m.start(), m.end()) for m in re.finditer(r"--[^\n]*", text)]
        header = text.find("$$")
        every += [
            (name, place) for place in places(text)
            if place[0] > header and not any(a <= place[0] < b for a, b in comments)
            and place[0] < text.find("$$", header + 2)
        ]  # fmt: skip
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


def hunt(stage: Stage, seeds: list[int]) -> tuple[int, Failure] | None:
    """Run schedules until one fails."""
    for seed in seeds:
        if failure := play(stage, draw_schedule(seed)):
            return seed, failure
    return None


def main() -> int:
    """Print a row for each mutant; the exit status is the number of those that survived."""
    parser = argparse.ArgumentParser(
        prog="mutants", description="Change the engine at random and look who notices."
    )
    parser.add_argument("--mutants", type=int, default=30, help="number of mutants (default 30)")
    parser.add_argument(
        "--seed", type=int, default=1, help="seed that the mutants are drawn from (default 1)"
    )
    parser.add_argument(
        "--schedules", type=int, default=300, help="schedules for each mutant (default 300)"
    )
    options = parser.parse_args()
    files = sql_files("functions")
    tried = survived = 0
    with temporary_stage() as stage:
        seeds = [
            seed
            for seed in range(1, options.schedules + 1)
            if play(stage, draw_schedule(seed)) is None
        ]
        print(
            f"{options.schedules - len(seeds)} of {options.schedules} seeds fail without a mutant and are left out"
        )
        print("| function | line | change | found |\n| --- | --- | --- | --- |", flush=True)
        for mutant in mutants(files, options.seed):
            if tried == options.mutants:
                break
            if not compiles(stage, mutant):
                continue
            began, tried = time.monotonic(), tried + 1
            found = hunt(stage, seeds)
            stage.control.execute(files[mutant.function].encode(), prepare=False)
            survived += found is None
            took = f"{time.monotonic() - began:.0f} s"
            told = f"seed {found[0]}, {found[1].rule}, {took}" if found else f"SURVIVED, {took}"
            print(f"| {mutant.function} | {mutant.line} | `{mutant.change}` | {told} |", flush=True)
    print(f"{tried - survived} of {tried} mutants found")
    return survived


if __name__ == "__main__":
    sys.exit(main())
