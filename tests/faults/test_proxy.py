"""The proxy cuts before or after the commit, as it is told, and lets a connection environment half open."""

import random
from collections.abc import Iterator

import psycopg
import pytest
from faults.proxy import Proxy, proxy

from lonnymq.embedded_postgres import TemporaryServer
from support import eventually


@pytest.fixture
def between(postgresql_18: TemporaryServer) -> Iterator[Proxy]:
    with proxy(postgresql_18.cluster.socket_folder) as made:
        yield made


@pytest.fixture
def table(postgresql_18: TemporaryServer) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgresql_18.dsn, autocommit=True) as connection:
        connection.execute("drop table if exists cut; create table cut (number int)")
        yield connection
        connection.execute("drop table cut")


def count(table: psycopg.Connection) -> int:
    row = table.execute("select count(*) from cut").fetchone()
    return row[0] if row else 0


@pytest.mark.parametrize(("when", "there"), [("before", 0), ("after", 1)])
@pytest.mark.parametrize("prepare", [True, False])
def test_a_statement_is_cut_before_or_after_its_commit(
    between: Proxy, table: psycopg.Connection, when: str, there: int, prepare: bool
) -> None:
    connection = psycopg.connect(between.dsn, autocommit=True)
    between.cut(when, b"insert into cut")
    with pytest.raises(psycopg.OperationalError):
        connection.execute("insert into cut values (%s)", (1,), prepare=prepare)
    assert count(table) == there
    assert between.cuts == 1


@pytest.mark.parametrize(("when", "there"), [("before", 0), ("after", 1)])
def test_a_transaction_is_cut_before_or_after_its_commit(
    between: Proxy, table: psycopg.Connection, when: str, there: int
) -> None:
    connection = psycopg.connect(between.dsn)
    connection.execute("insert into cut values (1)")
    between.cut(when, b"COMMIT")
    with pytest.raises(psycopg.OperationalError):
        connection.commit()
    assert count(table) == there


def test_a_connection_stands_half_open_until_its_time_is_over(between: Proxy) -> None:
    connection = psycopg.connect(between.dsn, autocommit=True)
    connection.execute("select 1")
    between.half_open(random.Random(1), 0.3)
    eventually(lambda: between.wires[0].silent)
    with pytest.raises(psycopg.OperationalError):
        connection.execute("select 1")
