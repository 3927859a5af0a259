"""docs/benchmarks.md shows the stored run that it names, and nothing else."""

import json
import re

from benchmarks.report import document

RESULTS = document.ROOT / "benchmarks" / "results"


def test_the_figures_of_the_page_are_those_of_the_stored_samples() -> None:
    text = document.PAGE.read_text()
    shown = text.split(document.BEGIN)[1].split(document.END)[0].strip()
    [name] = re.findall(r"Every sample is in \[(.+?)\]", shown)
    report = json.loads((RESULTS / name).read_text())
    assert shown == document.render_figures(report, name)
