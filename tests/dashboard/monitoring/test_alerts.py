"""The alerts fire where they should and nowhere else: promtool plays figures to them, minute by minute."""

from pathlib import Path

import pytest
import yaml

from dashboard.monitoring.prometheus_server import promtool
from documents import ROOT

RULES = ROOT / "deploy" / "prometheus-alerts.yml"
CASES = Path(__file__).with_name("alerts_test.yml")


def test_promtool_finds_no_fault_in_the_rules():
    assert "22 rules found" in promtool("check", "rules", RULES)


def test_each_alert_fires_when_it_should_and_not_before():
    promtool("test", "rules", CASES)


def test_each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not():
    groups = yaml.safe_load(RULES.read_text())["groups"]
    rules = {each["alert"] for group in groups for each in group["rules"] if "alert" in each}
    tests = yaml.safe_load(CASES.read_text())["tests"]
    cases = [case for each in tests for case in each["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case.get("exp_alerts")} == rules
    assert {case["alertname"] for case in cases if not case.get("exp_alerts")} == rules


def test_a_bound_that_is_wrong_would_be_noticed(tmp_path):
    (tmp_path / "rules.yml").write_text(RULES.read_text().replace("> 300", "> 3000"))
    cases = yaml.safe_load(CASES.read_text()) | {"rule_files": ["rules.yml"]}
    (tmp_path / "cases.yml").write_text(yaml.safe_dump(cases))
    with pytest.raises(AssertionError, match="LonnyMQOldMessages"):
        promtool("test", "rules", tmp_path / "cases.yml")
