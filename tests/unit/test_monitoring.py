"""The alerts, the Grafana dashboard and the page about metrics name the metrics that there are, and all of them."""

import json
import re

import yaml

from documents import ROOT
from lonnymq.dashboard.metrics import DashboardMetrics

WORKERS = ROOT / "src" / "lonnymq" / "worker" / "metrics.py"
NAME = re.compile(r"\blonnymq_\w+")
SUFFIX = re.compile(r"_(bucket|sum|count)$")
OTHERS = {"lonnymq_viewer", "lonnymq_admin"}


def written() -> set[str]:
    """The names that the dashboard and workers write."""
    of_workers = set(re.findall(r'"(lonnymq_worker_\w+)"', WORKERS.read_text()))
    assert len(of_workers) >= 7
    return of_workers | {each.sample_name for each in DashboardMetrics().all}


def named(text: str) -> set[str]:
    """The names that a text has."""
    return {SUFFIX.sub("", each) for each in NAME.findall(text)} - OTHERS


def test_alerts_are_about_metrics_that_there_are() -> None:
    text = (ROOT / "deploy" / "prometheus-alerts.yml").read_text()
    rules = yaml.safe_load(text)["groups"][0]["rules"]
    assert len({each["alert"] for each in rules}) == len(rules) >= 8
    for rule in rules:
        assert named(rule["expr"])
        assert named(rule["expr"]) <= written()
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
        assert rule["annotations"].keys() == {"summary", "description"}


def test_the_grafana_dashboard_shows_metrics_that_there_are() -> None:
    dashboard = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text())
    panels = dashboard["panels"]
    assert len({each["id"] for each in panels}) == len(panels) > 10
    shown = named(" ".join(target["expr"] for each in panels for target in each["targets"]))
    assert shown <= written()
    assert shown >= {each for each in written() if "worker_" in each}


def test_the_page_about_metrics_has_all_of_them() -> None:
    assert named((ROOT / "docs" / "metrics.md").read_text()) == written()
