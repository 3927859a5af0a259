"""Tables of a run, from its JSON alone, as text for a terminal or as Markdown for the page."""

from __future__ import annotations

from typing import Any

Report = dict[str, Any]
Entry = dict[str, Any]
Row = list[str]


def figure(entry: Entry | None) -> str:
    """A median with its spread; or that it failed, which is explained below the table."""
    if entry is None:
        return "–"
    if entry["median"] is None:
        return "failed"
    return f"{number(entry['median'])} ±{entry['spread']:.0%}"


def number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def shape_tables(report: Report, shape: str) -> list[tuple[str, list[Row]]]:
    """A table for each group of cases: its title and its rows, the first being the head."""
    entries = [entry for entry in report["entries"] if entry["shape"] == shape]
    groups = sorted({entry["case"].get("batch", 0) for entry in entries}, key=int)
    if not any("channels" in entry["case"] for entry in entries):
        return [(shape, by_case(entries))]
    return [
        (
            title(shape, batch),
            by_channels([e for e in entries if e["case"].get("batch", 0) == batch]),
        )
        for batch in groups
    ]


def title(shape: str, batch: int) -> str:
    return f"{shape}, {batch:,} a call" if batch else shape


def by_case(entries: list[Entry]) -> list[Row]:
    """Contestants down, cases across."""
    cases = unique(entry["case"] for entry in entries)
    units = unique(entry["unit"] for entry in entries)
    head = [units[0] if len(units) == 1 else "", *(told(case) for case in cases)]
    return [
        head,
        *(
            [name, *(figure(find(entries, name, case)) for case in cases)]
            for name in names(entries)
        ),
    ]


def by_channels(entries: list[Entry]) -> list[Row]:
    """Contestants down, numbers of channels across; who knows no channels has one figure for all."""
    counts: list[Any] = sorted(
        {e["case"]["channels"] for e in entries if e["case"]["channels"] != "any"}
    )
    counts = counts or ["any"]
    batch = {key: value for key, value in entries[0]["case"].items() if key != "channels"}
    rows = []
    for name in names(entries):
        anyway = find(entries, name, {**batch, "channels": "any"})
        rows.append(
            [
                name,
                *(
                    figure(anyway or find(entries, name, {**batch, "channels": count}))
                    for count in counts
                ),
            ]
        )
    unit = entries[0]["unit"]
    return [[unit, *(channels_told(count) for count in counts)], *rows]


def channels_told(count: int | str) -> str:
    return "any channels" if isinstance(count, str) else f"{count:,} channel{'s' * (count > 1)}"


def goal_rows(report: Report) -> list[Row]:
    """Every goal with what was found."""
    rows = [["goal", "found", "range", ""]]
    for each in report["verdicts"]:
        unit = each["unit"]
        if each["value"] is None:
            rows.append([each["goal"], "–", "", each["verdict"]])
            continue
        reach = f"{number(each['least'])} – {number(each['most'])}"
        rows.append([each["goal"], f"{number(each['value'])}{unit}", reach, each["verdict"]])
    return rows


def failures(report: Report) -> list[str]:
    """One line for each contestant that did not run somewhere, with the reason."""
    return [
        f"{entry['contestant']} failed in {entry['shape']} ({told(entry['case'])}): {entry['error']}"
        for entry in report["entries"]
        if entry["error"]
    ] + [f"{name} did not install: {reason}" for name, reason in report["not_installed"].items()]


def told(case: dict[str, Any]) -> str:
    if set(case) == {"batch"}:
        return f"{case['batch']:,} a call"
    return ", ".join(
        f"{key} {value:,}" if isinstance(value, int) else str(value) for key, value in case.items()
    )


def names(entries: list[Entry]) -> list[str]:
    return unique(entry["contestant"] for entry in entries)


def unique(values: Any) -> list[Any]:
    seen: list[Any] = []
    for value in values:
        if value not in seen:
            seen.append(value)
    return seen


def find(entries: list[Entry], name: str, case: dict[str, Any]) -> Entry | None:
    same = (entry for entry in entries if entry["contestant"] == name and entry["case"] == case)
    return next(same, None)


def as_text(rows: list[Row]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, rest = row[0].ljust(widths[0]), zip(row[1:], widths[1:], strict=True)
        lines.append("  ".join([first, *(cell.rjust(width) for cell, width in rest)]))
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def as_markdown(rows: list[Row]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    rule = "| --- |" + " ---: |" * (len(rows[0]) - 1)
    return "\n".join([lines[0], rule, *lines[1:]])


def whole(report: Report, *, markdown: bool = False) -> str:
    """All tables of a run."""
    render = as_markdown if markdown else as_text
    parts = []
    for shape in report["shapes"]:
        for heading, rows in shape_tables(report, shape):
            parts += [f"**{heading}**" if markdown else f"\n{heading}", render(rows)]
    if report["verdicts"]:
        parts += ["**goals**" if markdown else "\ngoals", render(goal_rows(report))]
    parts += [f"- {line}" for line in failures(report)]
    return ("\n\n" if markdown else "\n").join(parts)
