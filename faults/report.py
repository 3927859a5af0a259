"""How a run ends: a table of what was found, one of the faults, the histories concerned, and all of it as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from faults.run import Result

COLUMNS = {
    "lost": ("lost",),
    "ghosts": ("ghosts", "rolled back", "phantoms"),
    "doubly completed": ("doubly completed", "unfounded"),
    "overlaps": ("overlaps", "extra", "run at once"),
    "handlers": ("not run", "run twice"),
    "over limit": ("over limit",),
}


def result_row(result: Result) -> list[str]:
    """A run as a row of the table."""
    counts = {name: len(found) for name, found in result.found.items()}
    known = [sum(counts.pop(kind, 0) for kind in kinds) for kinds in COLUMNS.values()]
    recovery = "" if result.recovery is None else f"{result.recovery:.2f} s"
    return [
        result.scenario,
        f"{result.messages:,}",
        f"{sum(result.faults.values()):,}",
        *(str(each) for each in known),
        str(sum(counts.values())),
        recovery,
        f"{result.seconds:.0f} s",
        str(result.seed),
    ]


def render_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, its columns as wide as they must be."""
    table = [list(heads), *map(list, rows)]
    widths = [max(len(row[at]) for row in table) for at in range(len(heads))]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
             for row in table]  # fmt: skip
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines)


def render_tables(results: Sequence[Result]) -> str:
    """The two tables of a run."""
    heads = [
        "scenario",
        "messages",
        "faults",
        *COLUMNS,
        "other",
        "slowest recovery",
        "took",
        "seed",
    ]
    faults: Counter[str] = sum((each.faults for each in results), Counter())
    kinds = [[kind, f"{times:,}"] for kind, times in sorted(faults.items())]
    parts = [render_table(heads, [result_row(each) for each in results])]
    if kinds:
        parts.append(render_table(["fault", "times"], kinds))
    return "\n\n".join(parts)


def render_figures(results: Sequence[Result]) -> str:
    """What else was measured, a line for each scenario."""
    lines = []
    for result in results:
        figures = ", ".join(f"{name} {value}" for name, value in result.figures.items())
        lines.append(f"- {result.scenario}: {figures}")
    return "\n".join(lines)


def render_failures(results: Sequence[Result]) -> str:
    """What must not be, and the histories of the messages concerned."""
    lines: list[str] = []
    for result in results:
        for violation in result.violations[:20]:
            where = "" if violation.id is None else f" (message {violation.id})"
            lines.append(f"{result.scenario}: {violation.kind}: {violation.detail}{where}")
        if len(result.violations) > 20:
            lines.append(f"{result.scenario}: … and {len(result.violations) - 20} more")
        for story in result.stories:
            lines += story
    return "\n".join(lines)


def describe_machine() -> dict[str, Any]:
    """What it ran on."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "load": [round(each, 1) for each in os.getloadavg()],
        "python": platform.python_version(),
        "system": platform.platform(),
    }


def write_page(results: Sequence[Result], path: Path, command: str) -> None:
    """Put a run's tables into a page, between the marks of its size; a page without them gets them at its end."""
    size, ran = results[0].size, describe_machine()
    begin, end = (f"<!-- run of size {size}: {word} -->" for word in ("begin", "end"))
    text = path.read_text()
    if begin not in text:
        text = f"{text.rstrip()}\n\n{begin}\n{end}\n"
    minutes = sum(each.seconds for each in results) / 60
    head = (
        f"### `{command}`, {ran['at'][:10]}\n\n"
        f"{ran['cores']} cores, load {ran['load'][0]} at the end, PostgreSQL 18, Python {ran['python']}, "
        f"{minutes:.0f} minutes, finished at {ran['at'][11:16]} UTC.\n"
    )
    body = f"{head}\n{render_tables(results)}\n\n{render_figures(results)}\n"
    before, rest = text.split(begin, 1)
    path.write_text(f"{before}{begin}\n\n{body}\n{end}{rest.split(end, 1)[1]}")


def save_json(results: Sequence[Result], path: Path) -> None:
    """Write all of it as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(
            {"machine": describe_machine(), "runs": [to_json(each) for each in results]}, indent=1
        )
    )


def to_json(result: Result) -> dict[str, Any]:
    """A run as JSON takes it."""
    return {
        "scenario": result.scenario,
        "size": result.size,
        "seed": result.seed,
        "seconds": result.seconds,
        "messages": result.messages,
        "faults": dict(result.faults),
        "found": {name: len(found) for name, found in result.found.items()},
        "violations": [
            {"kind": each.kind, "detail": each.detail, "id": each.id}
            for each in result.violations[:100]
        ],
        "slowest_recovery_seconds": result.recovery,
        "figures": result.figures,
        "stories": result.stories,
    }
