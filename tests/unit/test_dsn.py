"""DSNs in every spelling, with the defaults of lasting connections, and never quoted in an error."""

import pytest

from lonnymq import Queue
from lonnymq.client.dsn import complete_dsn, describe_dsn, read_dsn
from lonnymq.errors import InvalidArgument


def completed(dsn: str, **defaults: str) -> dict[str, str]:
    return read_dsn(complete_dsn(dsn, **defaults))


def test_a_dsn_gets_keepalives_and_time_limits() -> None:
    found = completed("postgresql://u:p@h/d", application_name="w")
    assert found == {
        "user": "u", "password": "p", "host": "h", "dbname": "d", "application_name": "w",
        "connect_timeout": "5", "tcp_user_timeout": "15000",
        "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3",
    }  # fmt: skip


def test_a_dsn_keeps_its_own_parameters() -> None:
    own = "host=h tcp_user_timeout=1 connect_timeout=9 application_name=mine"
    assert completed(own, application_name="w").items() >= read_dsn(own).items()


def test_variables_of_libpq_come_before_defaults(monkeypatch) -> None:
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "60")
    monkeypatch.setenv("PGAPPNAME", "mine")
    assert {"connect_timeout", "application_name"}.isdisjoint(completed("host=h"))


@pytest.mark.parametrize("dsn", ["postgresql://a,b/d", "host=a,b dbname=d", "hostaddr=::1,::2"])
def test_among_several_hosts_the_primary_is_chosen(dsn: str) -> None:
    assert completed(dsn)["target_session_attrs"] == "read-write"


def test_the_choice_among_several_hosts_can_be_changed(monkeypatch) -> None:
    own = "postgresql://a,b/d?target_session_attrs=any"
    assert completed(own)["target_session_attrs"] == "any"
    assert "target_session_attrs" not in completed("host=a")
    monkeypatch.setenv("PGHOST", "a,b")
    assert completed("dbname=d")["target_session_attrs"] == "read-write"
    monkeypatch.setenv("PGTARGETSESSIONATTRS", "primary")
    assert "target_session_attrs" not in completed("dbname=d")


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2", "asyncpg", "psycopg_async"])
def test_the_spelling_of_sqlalchemy_is_understood(driver: str) -> None:
    assert read_dsn(f"postgresql+{driver}://u:p@h/d") == read_dsn("postgresql://u:p@h/d")


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql:/user:canary@host",
        "mysql+pymysql://u:canary@h/d",
        "postgresql+psycopg://u:canary@h/d?nosuch=1",
        "password=canary host",
    ],
)
def test_a_dsn_that_cannot_be_read_is_not_quoted(dsn: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Queue(dsn)
    assert "canary" not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_a_database_is_described_without_user_and_password() -> None:
    assert describe_dsn("postgresql://u:canary@h:5433/d") == ("h:5433", "d")
    assert describe_dsn("host=/run/x port=5432 dbname=d") == ("/run/x", "d")
    assert describe_dsn("user=u") == ("the local server", "u")
