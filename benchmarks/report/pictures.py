"""The pictures of docs/benchmarks.md, drawn from a run's JSON and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from benchmarks.report.table import Entry, Report, find_entry

OURS, PALE, DARK = "#1d6f5f", "#a9b4b1", "#39424e"
COLOURS = {
    "lonnymq": OURS,
    "pgmq archive": "#c8553d",
    "skip locked table": "#8d99ae",
    "PgQueuer": "#5b6bbf",
}
SPARE = ("#b08bbb", "#d9a441", "#7fb069")
plt.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "lonnymq",
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "figure.facecolor": "white",
    }
)


def draw_pictures(report: Report, folder: Path) -> list[Path]:
    """Draw what the run has figures for; return what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for scenario, draw in PICTURES.items():
        entries = [
            entry
            for entry in report["entries"]
            if entry["scenario"] == scenario and entry["samples"]
        ]
        if entries:
            figure = draw(entries)
            figure.tight_layout()
            path = folder / f"bench-{scenario}.svg"
            figure.savefig(path, metadata={"Date": None})
            plt.close(figure)
            drawn.append(path)
    return drawn


def choose_colour(name: str, place: int = 0) -> str:
    return COLOURS.get(name, SPARE[place % len(SPARE)])


def draw_drain(entries: list[Entry]) -> Any:
    """Messages a second of everybody, at 100 and at 1 a call."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.6))
    for panel, batch in zip(panels, (100, 1), strict=True):
        chosen = [entry for entry in entries if entry["case"]["batch"] == batch]
        draw_bars(panel, chosen)
        panel.set_title(f"drain, {batch} per call")
    return figure


def draw_bars(panel: Axes, entries: list[Entry]) -> None:
    ordered = sorted(entries, key=lambda entry: entry["median"])
    names = [label_entry(entry) for entry in ordered]
    values = [entry["median"] for entry in ordered]
    reach = [[v - min(e["samples"]) for v, e in zip(values, ordered, strict=True)],
             [max(e["samples"]) - v for v, e in zip(values, ordered, strict=True)]]  # fmt: skip
    shades = [OURS if entry["system"].startswith("lonnymq") else PALE for entry in ordered]
    panel.barh(names, values, color=shades, xerr=reach, ecolor=DARK, height=0.7)
    panel.set_xlabel("messages/s")
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    panel.tick_params(labelsize=8)
    panel.locator_params(axis="x", nbins=4)


def label_entry(entry: Entry) -> str:
    count = entry["case"].get("channels", "any")
    suffix = "" if count == "any" else f" · {count:,} channel{'s' * (count > 1)}"
    return f"{entry['system']}{suffix}"


def draw_growth(entries: list[Entry]) -> Any:
    """One panel an axis: p50 and p99 of a dequeue as the axis grows."""
    axes = list(dict.fromkeys(entry["case"]["axis"] for entry in entries))
    figure, panels = plt.subplots(1, len(axes), figsize=(11, 3), sharey=True)
    for panel, axis in zip(panels if len(axes) > 1 else [panels], axes, strict=True):
        for share, style in (("p99", "--"), ("p50", "-")):
            chosen = [
                e for e in entries if e["case"]["axis"] == axis and e["case"]["percentile"] == share
            ]
            sizes = [f"{entry['case']['size']:,}" for entry in chosen]
            panel.plot(
                sizes,
                [entry["median"] for entry in chosen],
                style,
                marker="o",
                color=OURS,
                label=share,
            )
        panel.set_title(axis)
        panel.tick_params(axis="x", labelsize=8)
    first = panels[0] if len(axes) > 1 else panels
    first.set_ylabel("ms per dequeue")
    first.set_ylim(bottom=0)
    first.legend(frameon=False)
    return figure


def draw_snapshot(entries: list[Entry]) -> Any:
    """What came through in each second while a reader held its snapshot, and how fast each drains after it."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
    kept = [entry for entry in entries if entry["case"] == {"reader": "open", "what": "kept"}]
    for place, entry in enumerate(kept):
        counts = entry["details"][0]["each_second"]
        shown = [
            sum(counts[max(0, at - 4) : at + 1]) / len(counts[max(0, at - 4) : at + 1])
            for at in range(len(counts))
        ]
        left.plot(
            range(1, len(counts) + 1),
            shown,
            label=entry["system"],
            color=choose_colour(entry["system"], place),
        )
    left.set_title("messages/s with an open reader, 500/s are created")
    left.set_xlabel("seconds")
    left.set_ylim(bottom=0)
    left.legend(frameon=False, fontsize=8)
    names = [entry["system"] for entry in kept]
    for offset, reader, shade in ((0.2, "none", PALE), (-0.2, "open", OURS)):
        found = [
            find_entry(entries, name, {"reader": reader, "what": "drain after"}) for name in names
        ]
        values = [entry["median"] if entry else 0 for entry in found]
        right.barh(
            [place + offset for place in range(len(names))],
            values,
            0.38,
            color=shade,
            label=f"reader: {reader}",
        )
    right.set_yticks(range(len(names)), names)
    right.set_title("drain, 1 per call, at the end")
    right.set_xlabel("messages/s")
    right.legend(frameon=False, fontsize=8)
    return figure


def draw_latency(entries: list[Entry]) -> Any:
    """The share of messages whose handler began within so many milliseconds."""
    figure, panel = plt.subplots(figsize=(7, 3.4))
    for place, entry in enumerate(e for e in entries if e["case"] == {"percentile": "p50"}):
        waits = sorted(wait for detail in entry["details"] for wait in detail["waits_ms"])
        shares = [(number + 1) / len(waits) for number in range(len(waits))]
        panel.plot(
            waits, shares, label=entry["system"], color=choose_colour(entry["system"], place)
        )
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.set_xlabel("ms from create to handler, idle queue")
    panel.set_ylabel("share of messages")
    panel.legend(frameon=False, fontsize=8)
    return figure


def draw_noisy(entries: list[Entry]) -> Any:
    """The quiet tenants' waits, p50 and p99, alone and beside the flood."""
    figure, panel = plt.subplots(figsize=(8, 3))
    cases = [(e["system"], e["case"]["who"]) for e in entries if e["case"]["percentile"] == "p99"]
    for offset, share, shade in ((0.2, "p50", PALE), (-0.2, "p99", OURS)):
        found = [
            find_entry(entries, name, {"who": who, "percentile": share}) for name, who in cases
        ]
        values = [entry["median"] if entry else 0 for entry in found]
        panel.barh(
            [place + offset for place in range(len(cases))], values, 0.38, color=shade, label=share
        )
    panel.set_yticks(range(len(cases)), [f"{name}: {who}" for name, who in cases], fontsize=8)
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.set_xlabel("wait of a quiet tenant's message in ms, 8,000 is the whole sample or longer")
    panel.set_xlim(left=1)
    panel.legend(frameon=False, fontsize=8)
    return figure


PICTURES = {
    "drain": draw_drain,
    "growth": draw_growth,
    "snapshot": draw_snapshot,
    "latency": draw_latency,
    "noisy": draw_noisy,
}
