"""Tables of a run, from its JSON alone, as text for a terminal or as Markdown for the page."""

from __future__ import annotations

from typing import Any

Report = dict[str, Any]
Entry = dict[str, Any]
Row = list[str]
NOTHING = "–"  # noqa: RUF001 - a dash that is as wide as it should be


def figure(entry: Entry | None) -> str:
    """A median with its spread; or that it failed, which is explained below the table."""
    if entry is None:
        return NOTHING
    if entry["median"] is None:
        return "failed"
    told = number(entry["median"])
    return f"{told} ±{entry['spread']:.0%}" if len(entry["samples"]) > 1 else told


def number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


# Which keys of a case split a shape into tables, and which stand at the left of a row; the others stand above columns.
SPLIT = {"drain": "batch", "cost": "batch"}
LEFT = {
    "growth": ("size", "axis"),
    "limits": ("limits",),
    "noisy": ("contestant", "who"),
    "figures": ("what",),
}
# Shapes with cases of several kinds, each known by a key that the others lack: the kind's table, and what is its left.
KINDS = {
    "simulate": {
        "workload": ("what a core replays", ("workload",)),
        "executors": ("a sweep on Spark", ("contestant",)),
    }
}


def shape_tables(report: Report, shape: str) -> list[tuple[str, list[Row]]]:
    """The tables of a shape: each its title and its rows, the first being the head."""
    entries = [entry for entry in report["entries"] if entry["shape"] == shape]
    if not entries:
        return []
    if shape in KINDS:
        kinds = [
            (title, left, [entry for entry in entries if key in entry["case"]])
            for key, (title, left) in KINDS[shape].items()
        ]
        return [(f"{shape}, {title}", by_case(own, left, "")) for title, left, own in kinds if own]
    if shape not in SPLIT:
        return [(shape, one_table(shape, entries))]
    key = SPLIT[shape]
    parts = unique(entry["case"][key] for entry in entries)
    return [
        (
            f"{shape}, {part:,} a call",
            one_table(shape, [e for e in entries if e["case"][key] == part]),
        )
        for part in sorted(parts)
    ]


def one_table(shape: str, entries: list[Entry]) -> list[Row]:
    if "channels" in entries[0]["case"]:
        return by_channels(entries)
    return by_case(entries, LEFT.get(shape, ("contestant",)), SPLIT.get(shape, ""))


def by_case(entries: list[Entry], left: tuple[str, ...], split: str) -> list[Row]:
    """Rows by what stands at the left, columns by the rest of the case."""

    def row_of(entry: Entry) -> str:
        parts = {"contestant": entry["contestant"], **entry["case"]}
        return (" " if "contestant" not in left else ", ").join(
            told(key, parts[key]) for key in left
        )

    def column_of(entry: Entry) -> str:
        rest = [key for key in entry["case"] if key not in left and key != split]
        return ", ".join(told(key, entry["case"][key]) for key in rest)

    cells = {(row_of(entry), column_of(entry)): figure(entry) for entry in entries}
    rows, columns = unique(row for row, _ in cells), unique(column for _, column in cells)
    units = unique(entry["unit"] for entry in entries)
    head = [units[0] if len(units) == 1 else "", *columns]
    return [
        head,
        *([row, *(cells.get((row, column), NOTHING) for column in columns)] for row in rows),
    ]


def told(key: str, value: Any) -> str:
    """A part of a case in words."""
    words = {
        "batch": f"{value:,} a call" if isinstance(value, int) else "",
        "reader": f"reader: {value}",
        "executors": f"{value} executor{'s' * (value != 1)}",
    }
    if key in words:
        return words[key]
    return f"{value:,}" if isinstance(value, int) else str(value)


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
            rows.append([each["goal"], NOTHING, "", each["verdict"]])
            continue
        reach = f"{number(each['least'])} to {number(each['most'])}"
        rows.append([each["goal"], f"{number(each['value'])}{unit}", reach, each["verdict"]])
    return rows


def failures(report: Report) -> list[str]:
    """One line for each contestant that did not run somewhere, with the reason."""
    return [
        f"{entry['contestant']} failed in {entry['shape']} ({case_told(entry['case'])}): {entry['error']}"
        for entry in report["entries"]
        if entry["error"]
    ] + [
        *(f"{name} did not install: {why}" for name, why in report["not_installed"].items()),
        *(
            f"the shape {name} broke: {why}"
            for name, why in report.get("broken_shapes", {}).items()
        ),
    ]


def case_told(case: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {value:,}" if isinstance(value, int) else f"{key} {value}"
        for key, value in case.items()
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


def as_markdown(rows: list[Row], *, figures: bool = True) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    rule = "| --- |" + (" ---: |" if figures else " --- |") * (len(rows[0]) - 1)
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
