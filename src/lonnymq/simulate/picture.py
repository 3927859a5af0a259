"""The picture of a sweep: an SVG chart, or an HTML page with calibration, chart and tables.

The chart has a panel per scenario, and a line per tenant from p50 to p99, with the tenant's share.

The SVG is written here, because a file must show the same without a browser, and the wheel needs no plotting library.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import log10
from statistics import median

from lonnymq.simulate.replay import PERCENTILES, Calibration
from lonnymq.simulate.result import ReplayResult, WaitStats
from lonnymq.simulate.sweep import Trial
from lonnymq.text import format_duration, shorten

Results = Sequence[tuple[Trial, ReplayResult]]
TENANTS = 10  # with a line of their own: those who wait longest
PANELS_PER_LINE = 3  # panels
LABELS, PANEL, GAP, SHARE = 170, 240, 28, 44
HEAD, ROW, FOOT = 62, 20, 34
TOP = 46
TICKS = (1, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 864_000_000)
CHART_STYLE = """
  .what-if { --paper: #fffefb; --ink: #1b1e21; --soft: #565b60; --line: #e2ddd2; --mark: #0f5c6c; --was: #a9aeb2;
    --bad: #a8213a; font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
    font-size: 12px; }
  @media (prefers-color-scheme: dark) {
    .what-if { --paper: #1a1d20; --ink: #ece9e3; --soft: #a9adb0; --line: #2d3236; --mark: #6fcbd9; --was: #5d656b;
      --bad: #ff8f9c; }
  }
  .what-if .paper { fill: var(--paper); }
  .what-if text { fill: var(--ink); }
  .what-if .soft { fill: var(--soft); font-size: 11px; }
  .what-if .bad { fill: var(--bad); }
  .what-if .title { font-size: 15px; font-weight: 600; }
  .what-if .head { font-weight: 600; }
  .what-if .grid { stroke: var(--line); }
  .what-if .mark { stroke: var(--mark); stroke-width: 3; stroke-linecap: round; }
  .what-if .dot { fill: var(--mark); }
  .what-if .ring { fill: var(--paper); stroke: var(--mark); stroke-width: 2; }
  .what-if .was { stroke: var(--was); stroke-width: 2; }
"""
LEGEND_SINGLE = "Waits from p50 (filled) to p99 (ring). Share of attempts: 1 is a fair share."
LEGEND = LEGEND_SINGLE + " Grey: first panel."
MAX_TENANTS = 500  # in the table
NOTHING = "-"
PAGE_STYLE = """
  :root { color-scheme: light dark; --paper: light-dark(#f4f2ec, #121416); --card: light-dark(#fffefb, #1a1d20);
    --ink: light-dark(#1b1e21, #ece9e3); --soft: light-dark(#565b60, #a9adb0); --line: light-dark(#e2ddd2, #2d3236); }
  body { margin: 0 auto; max-width: 62rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
    font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
  h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } p { color: var(--soft); }
  .wide { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
  .wide svg { display: block; max-width: 100%; height: auto; }
  table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
  th, td { padding: 0.3rem 0.7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
  th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; white-space: normal; }
  @media print { body { max-width: none; background: none; } .wide { border: 0; overflow: visible; } }
"""


def render_svg(found: Results, *, title: str = "What if", about: str = "") -> str:
    """The results as a self-contained SVG with light and dark theme."""
    lines = -(-len(found) // PANELS_PER_LINE)
    rows = choose_rows(found)
    tall = HEAD + ROW * len(rows) + FOOT
    width = LABELS + min(PANELS_PER_LINE, max(2, len(found))) * (PANEL + GAP)
    height = TOP + lines * tall + 30
    longest = max(
        (waits.p99 for _, given in found for waits in [given.all, *given.tenants.values()]),
        default=1,
    )
    scale = Scale(PANEL - SHARE, longest)
    body = []
    for place, (trial, given) in enumerate(found):
        line, column = divmod(place, PANELS_PER_LINE)
        x, y = LABELS + column * (PANEL + GAP), TOP + line * tall
        if column == 0:
            body += draw_labels(rows, found, y)
        body.append(f'<g transform="translate({x} {y})">')
        body += draw_panel(trial, given, found[0][1] if place else None, rows, scale)
        body.append("</g>")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="what-if" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" role="img" aria-label="{escape(title)}">',
            f"<style>{CHART_STYLE}</style>",
            f'<rect class="paper" width="{width}" height="{height}"/>',
            f'<text class="title" x="12" y="22">{escape(title)}</text>',
            f'<text class="soft" x="12" y="38">{escape(about)}</text>',
            *body,
            f'<text class="soft" x="12" y="{height - 12}">{LEGEND if len(found) > 1 else LEGEND_SINGLE}</text>',
            "</svg>\n",
        ]
    )  # fmt: skip


class Scale:
    """The logarithmic time axis of a panel."""

    def __init__(self, width: int, longest: int) -> None:
        self.width = width
        self.most = next(
            (tick for tick in TICKS if tick >= longest and tick > 1), max(TICKS[-1], longest)
        )

    def at(self, ms: float) -> float:
        """The x position of a wait; waits below a millisecond are at the start."""
        return round(log10(max(1.0, min(ms, self.most))) / log10(self.most) * self.width, 1)

    @property
    def ticks(self) -> list[int]:
        """The tick labels that fit below a panel."""
        kept: list[int] = []
        for tick in TICKS:
            if tick <= self.most and (not kept or self.at(tick) - self.at(kept[-1]) >= 40):
                kept.append(tick)
        return kept


def choose_rows(found: Results) -> list[str | None]:
    """The rows of a panel: None for all tenants, those with the longest waits, and '' for the others."""
    ordered = rank_tenants(found)
    # A channel's name is never empty.
    return [None, *ordered[:TENANTS], *([""] if len(ordered) > TENANTS else [])]


def rank_tenants(found: Results) -> list[str]:
    """All tenants, those with the longest waits first."""
    worst: dict[str, int] = {}
    for _, given in found:
        for name, waits in given.tenants.items():
            worst[name] = max(worst.get(name, 0), waits.p99)
    return sorted(worst, key=lambda name: (-worst[name], name))


def draw_labels(rows: Sequence[str | None], found: Results, y: int) -> list[str]:
    """The row labels of a line of panels."""
    made = []
    many = len({name for _, given in found for name in given.tenants}) - len(rows) + 2
    for place, row in enumerate(rows):
        words = (
            "all tenants"
            if row is None
            else shorten(row, 24)
            if row
            else f"{many:,} others (median)"
        )
        kind = "head" if row is None else "row" if row else "soft"
        at = y + HEAD + place * ROW + 4
        full = f"<title>{escape(shorten(row, 300))}</title>" if row else ""
        made.append(
            f'<text class="{kind}" x="{LABELS - 12}" y="{at}" text-anchor="end">{full}{escape(words)}</text>'
        )
    return made  # fmt: skip


def draw_panel(
    trial: Trial,
    given: ReplayResult,
    was: ReplayResult | None,
    rows: Sequence[str | None],
    scale: Scale,
) -> list[str]:
    """One scenario."""
    bottom = HEAD + ROW * len(rows) - 4
    many = f"{trial.scenario.workers} worker{'' if trial.scenario.workers == 1 else 's'}"
    times = "" if trial.growth == 1 else f", {trial.growth:g} times the messages"
    words = "unchanged" if not trial.changes else trial.description
    even = "no competing backlogs" if given.fairness is None else f"fairness {given.fairness:.2f}"
    made = [
        f'<text class="head" x="0" y="12">{many}{times}</text>',
        f'<text class="soft" x="0" y="27"><title>{escape(words)}</title>{escape(shorten(words, 42))}</text>',
        f'<text class="soft" x="0" y="42">{even}</text>',
    ]
    if any(row in given.shares for row in rows):
        made.append(f'<text class="soft" x="{PANEL}" y="42" text-anchor="end">share</text>')
    for tick in scale.ticks:
        x = scale.at(tick)
        made.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{HEAD - 12}" y2="{bottom}"/>')
        made.append(
            f'<text class="soft" x="{x}" y="{bottom + 14}" text-anchor="middle">{format_duration(tick)}</text>'
        )
    for place, row in enumerate(rows):
        made += draw_marks(row, HEAD + place * ROW, rows, given, was, scale)
    return made  # fmt: skip


def draw_marks(
    row: str | None, y: int, rows: Sequence[str | None], given: ReplayResult, was: ReplayResult | None, scale: Scale
) -> list[str]:  # fmt: skip
    """A row of a panel: marks of the first panel, the line from p50 to p99, and the share."""
    now, before = find_waits(row, rows, given), find_waits(row, rows, was) if was else None
    made = [
        f'<line class="was" x1="{x}" x2="{x}" y1="{y - 6}" y2="{y + 6}"/>'
        for x in ([scale.at(before[0]), scale.at(before[1])] if before else [])
    ]
    if now is None:
        return made
    first, last = scale.at(now[0]), scale.at(now[1])
    title = f"p50 {format_duration(now[0])}, p99 {format_duration(now[1])}"
    made.append(
        f'<g><title>{title}</title><line class="mark" x1="{first}" x2="{last}" y1="{y}" y2="{y}"/>'
        f'<circle class="ring" cx="{last}" cy="{y}" r="4"/><circle class="dot" cx="{first}" cy="{y}" r="4"/></g>'
    )
    if row and row in given.shares:
        share = given.shares[row]
        kind = "bad" if share < 0.8 else "row"
        made.append(
            f'<text class="{kind}" x="{PANEL}" y="{y + 4}" text-anchor="end">{share:.2f}</text>'
        )
    return made


def find_waits(
    row: str | None, rows: Sequence[str | None], given: ReplayResult
) -> tuple[float, float] | None:
    """The p50 and p99 of a row; for the others, the medians."""
    if row is None:
        return given.all.p50, given.all.p99
    if row:
        own = given.tenants.get(row)
        return None if own is None else (own.p50, own.p99)
    others: list[WaitStats] = [own for name, own in given.tenants.items() if name not in rows]
    if not others:
        return None
    return median(own.p50 for own in others), median(own.p99 for own in others)


def render_page(
    found: Results, *, title: str = "What if", about: str = "", known: Calibration | None = None
) -> str:
    """The sweep as one HTML file that needs nothing else."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            f"<head><meta charset=\"utf-8\"><title>{escape(title)}</title>",
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{PAGE_STYLE}</style></head>",
            "<body>",
            f"<h1>{escape(title)}</h1>",
            f"<p>{escape(about)}</p>",
            *(render_calibration(known) if known else []),
            "<h2>Waits and fairness</h2>",
            f'<div class="wide">{render_svg(found, title="From p50 to p99")}</div>',
            *render_scenarios(found),
            *render_tenants(found),
            "</body></html>\n",
        ]
    )  # fmt: skip


def render_calibration(known: Calibration) -> Iterable[str]:
    """What was recorded beside what the replay makes of the recorded settings."""
    yield "<h2>Calibration</h2>"
    yield f"<p>A replay at the recorded settings differs by {known.error:.0%} at most from the recorded waits.</p>"
    lines = [
        [name, *(format_duration(getattr(each, part)) for part in PERCENTILES)]
        for name, each in (("recorded", known.recorded), ("replayed", known.replayed))
    ]
    lines.append(["difference", *(f"{known.error_of(part):.0%}" for part in PERCENTILES)])
    yield render_table(["", *PERCENTILES], lines)


def render_scenarios(found: Results) -> Iterable[str]:
    """The totals, one row per scenario."""
    yield "<h2>Scenarios</h2>"
    yield render_table(
        ["settings", "workers", "growth", "messages", "p50", "p95", "p99", "longest", "fairness"],
        [
            [
                trial.description, f"{trial.scenario.workers:,}", f"{trial.growth:g}", f"{given.all.messages:,}",
                *format_waits(given.all), NOTHING if given.fairness is None else f"{given.fairness:.2f}",
            ]
            for trial, given in found
        ],
    )  # fmt: skip


def render_tenants(found: Results) -> Iterable[str]:
    """The tenants, one column per scenario."""
    names = rank_tenants(found)
    yield "<h2>Tenants</h2>"
    yield (
        f"<p>Wait p50 / wait p99 / share of attempts, for each scenario in the order above. {len(names):,} tenants"
        f"{f', of which you see the {MAX_TENANTS} with the longest waits' if len(names) > MAX_TENANTS else ''}.</p>"
    )
    heads = [
        f"{place}. {trial.scenario.workers} workers" for place, (trial, _) in enumerate(found, 1)
    ]
    lines = []
    for name in names[:MAX_TENANTS]:
        line = [shorten(name, 300)]
        for _, given in found:
            own, share = given.tenants.get(name), given.shares.get(name)
            ratio = NOTHING if share is None else f"{share:.2f}"
            line.append(
                NOTHING
                if own is None
                else f"{format_duration(own.p50)} / {format_duration(own.p99)} / {ratio}"
            )
        lines.append(line)
    yield render_table(["tenant", *heads], lines)


def format_waits(given: WaitStats) -> list[str]:
    """Percentiles in words."""
    return [format_duration(each) for each in (given.p50, given.p95, given.p99, given.longest)]


def render_table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table; what tenants wrote has no power over the page."""
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in heads)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(each)}</td>" for each in line) + "</tr>" for line in lines
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
