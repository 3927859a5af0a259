"""Small runs of the scenarios with fixed seeds; `make faults` runs the large ones, and holds them to their times."""

import pytest
from faults.run import Result
from faults.scenarios import run_scenario

from faults import report
from support import first_quick

SCENARIOS = [
    "sigkill", "unknown", "limits", "zombie", "restart", "durable", "hints", "poison", "fairness", "connections",
    "clock", "failover", "mixed", "black_hole", "hung_server", "read_only", "restore", "mass_expiry", "publication",
    "deploys", "crowd", "tenants", "groups",
]  # fmt: skip


def good(result: Result) -> bool:
    assert result.is_good, report.render_failures([result])
    return True


@pytest.mark.parametrize("name", first_quick(*SCENARIOS, quick=2))
def test_nothing_is_lost_or_done_twice(name: str) -> None:
    assert good(run_scenario(name, size="test", seed=11, quiet=True))
