"""Writes the page and the pictures anew from a run's JSON: `python -m benchmarks.report FILE`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.report import document


def publish(file: Path) -> None:
    from benchmarks.report import (
        pictures,
    )  # needs matplotlib, which only the benchmark's environment has

    report = json.loads(file.read_text())
    pictures.draw_all(report, document.PICTURES)
    document.write(report, str(file))


if __name__ == "__main__":
    publish(Path(sys.argv[1]))
