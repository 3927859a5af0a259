"""Predicted beside actual: a load is recorded with settings A, settings B are predicted and then run for real."""

import importlib
from typing import Any

import pytest

from documents import ROOT

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]


@pytest.fixture
def predictions(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("measure_predictions")


def test_waits_under_other_settings_are_about_as_predicted(predictions: Any) -> None:
    pair = predictions.PAIRS[3]  # the limit of the noisy tenant is removed
    found = predictions.measure_pair(pair, 20, seed=4)
    noisy = predictions.NOISY
    before, predicted, actual = (
        each.tenants[noisy].p95 for each in (found.recorded, found.predicted, found.actual)
    )
    assert before > 3 * actual  # what changes is much more than what a busy machine does to a wait
    assert abs(predicted - actual) < 0.5 * actual, found
    assert predictions.format_row(found).count("|") == 8
