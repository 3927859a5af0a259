"""Writes a run's figures into docs/benchmarks.md, between two marks, so that no figure there is typed by hand."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report.table import (
    Report,
    build_goal_rows,
    build_scenario_tables,
    list_failures,
    render_markdown,
)

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
    "cost": "Server cost of a message",
    "limits": "The price of limits",
    "worker": "Workers",
    "memory": "Memory of a consumer",
    "spark": "Spark",
    "simulate": "The simulator",
}


def write_page(report: Report, source: str, page: Path = PAGE) -> None:
    """Put the figures of a run in place of the ones before."""
    text = page.read_text()
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    page.write_text(f"{before}{BEGIN}\n\n{render_figures(report, source)}\n\n{END}{after}")


def render_figures(report: Report, source: str) -> str:
    parts = [render_header(report, source), "### Goals", render_markdown(build_goal_rows(report))]
    for scenario in report["scenarios"]:
        tables = build_scenario_tables(report, scenario)
        if tables:
            parts.append(f"### {HEADINGS[scenario]}")
        for title, rows in tables:
            if len(tables) > 1:
                parts.append(f"{title.split(', ', 1)[1].capitalize()}:")
            parts.append(render_markdown(rows))
        if (PICTURES / f"bench-{scenario}.svg").exists():
            parts.append(f"![{HEADINGS[scenario]}](pictures/bench-{scenario}.svg)")
    parts += [
        "### Systems and settings",
        render_markdown(build_system_rows(report), figures=False),
    ]
    if lines := list_failures(report):
        parts += ["### Failures", "\n".join(f"- {line}" for line in lines)]
    return "\n\n".join(parts)


def render_header(report: Report, source: str) -> str:
    machine, settings = report["machine"], report["settings"]
    shown = ", ".join(f"`{name} = {value}`" for name, value in settings.items())
    return "\n".join(
        [
            f"Run of {report['date']}, commit `{report['commit']}`, {report['rounds']} rounds, "
            f"by `{report['command']}` in {report['minutes']} minutes.",
            f"Machine: {machine['cores']} cores of {machine['cpu']}, {machine['memory_gib']} GiB, {machine['system']}, "
            f"load average before the run {machine['load_before'][0]}.",
            f"PostgreSQL {report['postgresql']}, Python {report['python']}, psycopg {report['psycopg']}. "
            f"Settings: {shown}.",
            f"Every sample is in [{Path(source).name}](../benchmarks/results/{Path(source).name}).",
        ]
    )


def build_system_rows(report: Report) -> list[list[str]]:
    known = report["systems"]
    return [["system", "version", "use"]] + [
        [name, about["version"], about["notes"]] for name, about in known.items()
    ]
