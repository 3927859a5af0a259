"""Writes the page and the pictures anew from a run's JSON: `python -m benchmarks.report FILE`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.report import document


def publish_report(file: Path) -> None:
    from benchmarks.report import (
        pictures,
    )  # needs matplotlib, which only the benchmark's environment has

    report = json.loads(file.read_text())
    pictures.draw_pictures(report, document.PICTURES)
    document.write_page(report, str(file))


if __name__ == "__main__":
    publish_report(Path(sys.argv[1]))
