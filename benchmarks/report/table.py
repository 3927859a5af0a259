"""Tables of a run, from its JSON alone, as text for a terminal or as Markdown for the page."""

from __future__ import annotations

from typing import Any

Report = dict[str, Any]
Entry = dict[str, Any]
Row = list[str]
NOTHING = "–"  # noqa: RUF001 - a dash that is as wide as it should be


def format_figure(entry: Entry | None) -> str:
    """A median with its spread; or that it failed, which is explained below the table."""
    if entry is None:
        return NOTHING
    if entry["median"] is None:
        return "failed"
    text = format_number(entry["median"])
    return f"{text} ±{entry['spread']:.0%}" if len(entry["samples"]) > 1 else text


def format_number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


# The key of a case that splits a scenario into tables, and the keys that name a row. The other keys name columns.
SPLIT = {"drain": "batch", "cost": "batch"}
LEFT = {
    "growth": ("size", "axis"),
    "noisy": ("system", "who"),
    "analytics": ("what",),
}
# Scenarios with several kinds of cases. A key that only one kind has selects its table: title, and keys of a row.
KINDS = {
    "limits": {
        "limits": ("limits that never bind", ("limits",)),
        "work": ("limits that bind", ("channels with 2 slots",)),
    },
    "simulate": {
        "workload": ("what a core replays", ("workload",)),
        "executors": ("a sweep on Spark", ("system",)),
    },
}


def build_scenario_tables(report: Report, scenario: str) -> list[tuple[str, list[Row]]]:
    """The tables of a scenario: each its title and its rows, the first being the head."""
    entries = [entry for entry in report["entries"] if entry["scenario"] == scenario]
    if not entries:
        return []
    if scenario in KINDS:
        kinds = [
            (title, left, [entry for entry in entries if key in entry["case"]])
            for key, (title, left) in KINDS[scenario].items()
        ]
        return [
            (f"{scenario}, {title}", build_case_table(own, left, ""))
            for title, left, own in kinds
            if own
        ]
    if scenario not in SPLIT:
        return [(scenario, build_table(scenario, entries))]
    key = SPLIT[scenario]
    parts = unique(entry["case"][key] for entry in entries)
    return [
        (
            f"{scenario}, {part:,} per call",
            build_table(scenario, [e for e in entries if e["case"][key] == part]),
        )
        for part in sorted(parts)
    ]


def build_table(scenario: str, entries: list[Entry]) -> list[Row]:
    if "channels" in entries[0]["case"]:
        return build_channel_table(entries)
    return build_case_table(entries, LEFT.get(scenario, ("system",)), SPLIT.get(scenario, ""))


def build_case_table(entries: list[Entry], left: tuple[str, ...], split: str) -> list[Row]:
    """Rows by what stands at the left, columns by the rest of the case."""

    def row_of(entry: Entry) -> str:
        parts = {"system": entry["system"], **entry["case"]}
        return (" " if "system" not in left else ", ").join(
            describe_value(key, parts[key]) for key in left
        )

    def column_of(entry: Entry) -> str:
        rest = [key for key in entry["case"] if key not in left and key != split]
        return ", ".join(describe_value(key, entry["case"][key]) for key in rest)

    cells = {(row_of(entry), column_of(entry)): format_figure(entry) for entry in entries}
    rows, columns = unique(row for row, _ in cells), unique(column for _, column in cells)
    units = unique(entry["unit"] for entry in entries)
    head = [units[0] if len(units) == 1 else "", *columns]
    return [
        head,
        *([row, *(cells.get((row, column), NOTHING) for column in columns)] for row in rows),
    ]


def describe_value(key: str, value: Any) -> str:
    """A part of a case in words."""
    words = {
        "batch": f"{value:,} per call" if isinstance(value, int) else "",
        "reader": f"reader: {value}",
        "executors": f"{value} executor{'s' * (value != 1)}",
    }
    if key in words:
        return words[key]
    return f"{value:,}" if isinstance(value, int) else str(value)


def build_channel_table(entries: list[Entry]) -> list[Row]:
    """Systems down, numbers of channels across; who knows no channels has one figure for all."""
    counts: list[Any] = sorted(
        {e["case"]["channels"] for e in entries if e["case"]["channels"] != "any"}
    )
    counts = counts or ["any"]
    batch = {key: value for key, value in entries[0]["case"].items() if key != "channels"}
    rows = []
    for name in list_systems(entries):
        anyway = find_entry(entries, name, {**batch, "channels": "any"})
        rows.append(
            [
                name,
                *(
                    format_figure(anyway or find_entry(entries, name, {**batch, "channels": count}))
                    for count in counts
                ),
            ]
        )
    unit = entries[0]["unit"]
    return [[unit, *(describe_channels(count) for count in counts)], *rows]


def describe_channels(count: int | str) -> str:
    return "any channels" if isinstance(count, str) else f"{count:,} channel{'s' * (count > 1)}"


def build_goal_rows(report: Report) -> list[Row]:
    """Every goal with what was found."""
    rows = [["goal", "found", "range", ""]]
    for each in report["verdicts"]:
        unit = each["unit"]
        if each["value"] is None:
            rows.append([each["goal"], NOTHING, "", each["verdict"]])
            continue
        reach = f"{format_number(each['least'])} to {format_number(each['most'])}"
        rows.append([each["goal"], f"{format_number(each['value'])}{unit}", reach, each["verdict"]])
    return rows


def list_failures(report: Report) -> list[str]:
    """One line for each system that did not run somewhere, with the reason."""
    return [
        f"{entry['system']} failed in {entry['scenario']} ({describe_case(entry['case'])}): {entry['error']}"
        for entry in report["entries"]
        if entry["error"]
    ] + [
        *(f"{name} did not install: {why}" for name, why in report["not_installed"].items()),
        *(
            f"the scenario {name} broke: {why}"
            for name, why in report.get("broken_scenarios", {}).items()
        ),
    ]


def describe_case(case: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {value:,}" if isinstance(value, int) else f"{key} {value}"
        for key, value in case.items()
    )


def list_systems(entries: list[Entry]) -> list[str]:
    return unique(entry["system"] for entry in entries)


def unique(values: Any) -> list[Any]:
    seen: list[Any] = []
    for value in values:
        if value not in seen:
            seen.append(value)
    return seen


def find_entry(entries: list[Entry], name: str, case: dict[str, Any]) -> Entry | None:
    same = (entry for entry in entries if entry["system"] == name and entry["case"] == case)
    return next(same, None)


def render_text(rows: list[Row]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, rest = row[0].ljust(widths[0]), zip(row[1:], widths[1:], strict=True)
        lines.append("  ".join([first, *(cell.rjust(width) for cell, width in rest)]))
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def render_markdown(rows: list[Row], *, figures: bool = True) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    rule = "| --- |" + (" ---: |" if figures else " --- |") * (len(rows[0]) - 1)
    return "\n".join([lines[0], rule, *lines[1:]])


def render_report(report: Report, *, markdown: bool = False) -> str:
    """All tables of a run."""
    render = render_markdown if markdown else render_text
    parts = []
    for scenario in report["scenarios"]:
        for heading, rows in build_scenario_tables(report, scenario):
            parts += [f"**{heading}**" if markdown else f"\n{heading}", render(rows)]
    if report["verdicts"]:
        parts += ["**goals**" if markdown else "\ngoals", render(build_goal_rows(report))]
    parts += [f"- {line}" for line in list_failures(report)]
    return ("\n\n" if markdown else "\n").join(parts)
