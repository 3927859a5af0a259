"""The options of a worker: the time limits of calls, and the address for metrics."""

import pytest

from lonnymq import Worker
from lonnymq.errors import InvalidArgument
from lonnymq.worker.settings import Settings, parse_address


def settings(lease_ms: int) -> Settings:
    return Worker(lease_ms=lease_ms).settings


def test_a_heartbeat_has_a_third_of_the_lease_and_other_calls_a_second_at_least() -> None:
    assert settings(30_000).heartbeat_seconds == settings(30_000).call_seconds == 10
    assert (settings(1500).heartbeat_seconds, settings(1500).call_seconds) == (0.5, 1)
    assert (settings(100).heartbeat_seconds, settings(3_600_000).call_seconds) == (0.25, 30)


def test_an_address_is_a_port_or_a_host_and_a_port() -> None:
    assert parse_address(9100) == ("127.0.0.1", 9100)
    assert parse_address("9100") == ("127.0.0.1", 9100)
    assert parse_address("0.0.0.0:9100") == ("0.0.0.0", 9100)
    assert parse_address("[::1]:9100") == ("::1", 9100)
    for bad in ("x", "host:", "1:99999", -1, "²"):
        with pytest.raises(InvalidArgument):
            Worker(metrics=bad)
