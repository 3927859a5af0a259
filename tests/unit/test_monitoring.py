"""The alerts, the Grafana dashboard and the page about metrics name the metrics that there are, and all of them."""

import json
import re

import yaml

from documents import ROOT
from lonnymq.dashboard.metrics import DashboardMetrics

WORKERS = ROOT / "src" / "lonnymq" / "worker" / "metrics.py"
NAME = re.compile(r"\blonnymq_\w+")
RECORDED = re.compile(r"\blonnymq:[\w:]+")
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
    rules = [each for group in yaml.safe_load(text)["groups"] for each in group["rules"]]
    recorded = {each["record"] for each in rules if "record" in each}
    alerts = [each for each in rules if "alert" in each]
    assert len({each["alert"] for each in alerts}) == len(alerts) >= 8
    for rule in rules:
        of_rules = set(RECORDED.findall(rule["expr"]))
        assert named(rule["expr"]) or of_rules
        assert named(rule["expr"]) <= written()
        assert of_rules <= recorded
    for alert in alerts:
        assert alert["labels"]["severity"] in ("info", "warning", "critical")
        assert alert["annotations"].keys() == {"summary", "description", "runbook_url"}


def test_each_alert_links_to_its_runbook() -> None:
    text = (ROOT / "deploy" / "prometheus-alerts.yml").read_text()
    names = re.findall(r"- alert: (\w+)", text)
    site = yaml.compose(ROOT.joinpath("mkdocs.yml").read_text())
    [address] = [value.value for key, value in site.value if key.value == "site_url"]
    assert re.findall(r'runbook_url: "(.+)"', text) == [
        f"{address}guides/alerts/#{name.lower()}" for name in names
    ]
    page = (ROOT / "docs" / "guides" / "alerts.md").read_text()
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    runbooks = {each.splitlines()[0]: each for each in sections}
    assert [each for each in runbooks if each.startswith("LonnyMQ")] == names
    for name in names:
        for part in ("**Meaning:**", "**Look:**", "**Do:**"):
            assert part in runbooks[name], (name, part)


def test_the_grafana_dashboard_shows_metrics_that_there_are() -> None:
    dashboard = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text())
    panels = dashboard["panels"]
    assert len({each["id"] for each in panels}) == len(panels) > 10
    shown = named(" ".join(target["expr"] for each in panels for target in each["targets"]))
    assert shown <= written()
    assert shown >= {each for each in written() if "worker_" in each}
    counters = ("messages_created", "attempts", "channel_attempts", "wait_seconds", "run_seconds")
    text = " ".join(sorted(shown))
    assert [each for each in counters if f"lonnymq_{each}" not in text] == []


def test_the_page_about_metrics_has_all_of_them() -> None:
    assert named((ROOT / "docs" / "metrics.md").read_text()) == written()
