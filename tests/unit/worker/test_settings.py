"""The options of a worker: the DSN with the worker's defaults, and the address for metrics."""

import pytest

from lonnymq import Worker
from lonnymq.errors import InvalidArgument
from lonnymq.worker.settings import add_dsn_defaults, parse_address


def test_a_dsn_keeps_what_it_says_and_gets_what_it_does_not() -> None:
    dsn = add_dsn_defaults(
        "postgresql://u:p@h/d?connect_timeout=9", {"connect_timeout": 5, "user": "x"}
    )
    assert "connect_timeout=9" in dsn
    assert "user=x" not in dsn
    assert "application_name=w" in add_dsn_defaults("host=h", {"application_name": "w"})


def test_a_dsn_that_cannot_be_read_is_not_quoted() -> None:
    with pytest.raises(InvalidArgument) as caught:
        add_dsn_defaults("postgresql:/user:canary@host")
    assert "canary" not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_an_address_is_a_port_or_a_host_and_a_port() -> None:
    assert parse_address(9100) == ("127.0.0.1", 9100)
    assert parse_address("9100") == ("127.0.0.1", 9100)
    assert parse_address("0.0.0.0:9100") == ("0.0.0.0", 9100)
    assert parse_address("[::1]:9100") == ("::1", 9100)
    for bad in ("x", "host:", "1:99999", -1, "²"):
        with pytest.raises(InvalidArgument):
            Worker(metrics=bad)
