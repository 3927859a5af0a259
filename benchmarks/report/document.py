"""Writes a run's figures into docs/benchmarks.md, between two marks, so that no figure there is typed by hand."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report.table import Report, as_markdown, failures, goal_rows, shape_tables

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURES = ROOT / "docs" / "pictures"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
HEADINGS = {
    "create": "Create",
    "drain": "Drain",
    "steady": "Steady state",
    "latency": "Latency on an idle queue",
    "noisy": "Noisy neighbour",
    "growth": "Growth",
    "snapshot": "A held snapshot",
    "cost": "What a message costs the server",
    "limits": "The price of limits",
    "worker": "Workers",
    "memory": "Memory of a consumer",
    "spark": "Spark",
    "simulate": "The simulator",
}


def write(report: Report, source: str, page: Path = PAGE) -> None:
    """Put the figures of a run in place of the ones before."""
    text = page.read_text()
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    page.write_text(f"{before}{BEGIN}\n\n{figures(report, source)}\n\n{END}{after}")


def figures(report: Report, source: str) -> str:
    parts = [header(report, source), "### Goals", as_markdown(goal_rows(report))]
    for shape in report["shapes"]:
        tables = shape_tables(report, shape)
        if tables:
            parts.append(f"### {HEADINGS[shape]}")
        for title, rows in tables:
            if len(tables) > 1:
                parts.append(f"{title.split(', ', 1)[1].capitalize()}:")
            parts.append(as_markdown(rows))
        if (PICTURES / f"bench-{shape}.svg").exists():
            parts.append(f"![{HEADINGS[shape]}](pictures/bench-{shape}.svg)")
    parts += ["### Who took part, and how", as_markdown(contestants(report), figures=False)]
    if lines := failures(report):
        parts += ["### What did not run", "\n".join(f"- {line}" for line in lines)]
    return "\n\n".join(parts)


def header(report: Report, source: str) -> str:
    machine, settings = report["machine"], report["settings"]
    told = ", ".join(f"`{name} = {value}`" for name, value in settings.items())
    return "\n".join(
        [
            f"Run of {report['date']}, commit `{report['commit']}`, {report['rounds']} rounds, "
            f"by `{report['command']}` in {report['minutes']} minutes.",
            f"Machine: {machine['cores']} cores of {machine['cpu']}, {machine['memory_gib']} GiB, {machine['system']}; "
            f"load average before the run {machine['load_before'][0]}.",
            f"PostgreSQL {report['postgresql']}, Python {report['python']}, psycopg {report['psycopg']}; {told}.",
            f"Every sample is in [{Path(source).name}](../benchmarks/results/{Path(source).name}).",
        ]
    )


def contestants(report: Report) -> list[list[str]]:
    known = report["contestants"]
    return [["contestant", "version", "how it is used"]] + [
        [name, about["version"], about["notes"]] for name, about in known.items()
    ]
