"""The results of a sweep as an HTML page: calibration, chart and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from lonnymq.simulate.calibration import PERCENTILES, Calibration
from lonnymq.simulate.result import WaitStats
from lonnymq.simulate.svg import Results, render_svg
from lonnymq.text import format_duration, shorten

MAX_TENANTS = 500  # in the table
NOTHING = "-"
STYLE = """
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
            f"<style>{STYLE}</style></head>",
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
    worst: dict[str, int] = {}
    for _, given in found:
        for name, waited in given.tenants.items():
            worst[name] = max(worst.get(name, 0), waited.p99)
    names = sorted(worst, key=lambda name: (-worst[name], name))
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
            told = NOTHING if share is None else f"{share:.2f}"
            line.append(
                NOTHING
                if own is None
                else f"{format_duration(own.p50)} / {format_duration(own.p99)} / {told}"
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
