"""The results of a sweep as an SVG chart: a panel per scenario, a line per tenant from p50 to p99, and its share."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log10
from statistics import median

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
STYLE = """
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
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{width}" height="{height}"/>',
            f'<text class="title" x="12" y="22">{escape(title)}</text>',
            f'<text class="soft" x="12" y="38">{escape(about)}</text>',
            *body,
            f'<text class="soft" x="12" y="{height - 12}">{LEGEND if len(found) > 1 else LEGEND_SINGLE}</text>',
            "</svg>\n",
        ]
    )  # fmt: skip


LEGEND_SINGLE = "Waits from p50 (filled) to p99 (ring). Share of attempts: 1 is a fair share."
LEGEND = LEGEND_SINGLE + " Grey: first panel."


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
    worst: dict[str, int] = {}
    for _, given in found:
        for name, waits in given.tenants.items():
            worst[name] = max(worst.get(name, 0), waits.p99)
    ordered = sorted(worst, key=lambda name: (-worst[name], name))
    # A channel's name is never empty.
    return [None, *ordered[:TENANTS], *([""] if len(ordered) > TENANTS else [])]


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
    said = f"p50 {format_duration(now[0])}, p99 {format_duration(now[1])}"
    made.append(
        f'<g><title>{said}</title><line class="mark" x1="{first}" x2="{last}" y1="{y}" y2="{y}"/>'
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
