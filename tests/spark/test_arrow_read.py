import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from lonnymq.spark import arrow_read
from lonnymq.spark.adbc import Error
from support import eventually

CONNECTED = "select count(*) from pg_stat_activity where application_name = 'refused'"


def test_a_connection_whose_transaction_cannot_begin_is_closed(
    dsn_18: str, connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection: psycopg.Connection = connect(dsn_18)
    monkeypatch.setattr(arrow_read, "BEGIN", "begin nonsense")
    address = make_conninfo(dsn_18, application_name="refused")
    with pytest.raises(Error) as caught, arrow_read.reading(address):
        pass
    assert caught.value is not None  # which keeps everything alive that the caller had
    eventually(lambda: connection.execute(CONNECTED).fetchone() == (0,))
