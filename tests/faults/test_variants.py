"""The harness goes red on what is known to be bad, each found out as what it is."""

import pytest
from faults.scenarios import run_scenario
from faults.variants import REVEALED_BY

from support import first_quick


@pytest.mark.parametrize("variant", first_quick(*REVEALED_BY))
def test_a_known_bad_variant_is_found_out(variant: str) -> None:
    scenario, kind = REVEALED_BY[variant]
    result = run_scenario(scenario, size="test", seed=3, quiet=True, variant=variant, timeout=6)
    assert result.found.get(kind), result.found
    assert not result.is_good
