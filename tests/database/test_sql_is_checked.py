"""plpgsql_check over every function of the installed queue: PostgreSQL reads a body only when it is run."""

import psycopg
import pytest

from lonnymq.client.installation import sql_files
from support import DEBIAN_15, missing

CHECK = """
  select p.oid::regprocedure::text, c.lineno, c.level, c.sqlstate, c.message, c.detail
  from pg_catalog.pg_proc p
  join pg_catalog.pg_language l on l.oid = p.prolang
  left join pg_catalog.pg_trigger t on t.tgfoid = p.oid
  cross join lateral checker.plpgsql_check_function_tb(
    p.oid, coalesce(t.tgrelid, 0), fatal_errors => false,
    performance_warnings => true, security_warnings => true
  ) c
  where p.pronamespace = 'lonnymq'::regnamespace
    and l.lanname = 'plpgsql'
    -- "Hidden casting": of an integer to a bigint, on its way into a variable.
    and not (c.level = 'performance' and c.sqlstate = '42804')
    -- Volatile because it locks rows, which the checker does not count as writing.
    and not (c.message like 'routine is marked as VOLATILE%' and p.prosrc like '%for update%')
"""
UNDOCUMENTED = """
  select p.oid::regprocedure::text
  from pg_catalog.pg_proc p
  where p.pronamespace = 'lonnymq'::regnamespace
    and pg_catalog.obj_description(p.oid, 'pg_proc') is null
"""


@pytest.fixture
def checked(connect, dsn_15: str) -> psycopg.Connection:
    if not (DEBIAN_15.parent / "lib" / "plpgsql_check.so").exists():
        missing("postgresql-15-plpgsql-check")
    connection = connect(dsn_15)
    connection.execute("create schema checker")
    connection.execute("create extension plpgsql_check schema checker")
    connection.execute("select lonnymq.history_fence_set(1, 2)")  # the trigger that it makes
    return connection


def test_plpgsql_check_finds_nothing(checked: psycopg.Connection) -> None:
    assert checked.execute(CHECK.encode()).fetchall() == []


def test_plpgsql_check_finds_what_is_wrong(checked: psycopg.Connection) -> None:
    checked.execute("""
        create function lonnymq.wrong() returns bigint language plpgsql as $$
        declare
          v_unused integer;
        begin
          return (select m.no_such_column from lonnymq.message m limit 1);
        end
        $$
    """)
    found = checked.execute(CHECK.encode()).fetchall()
    assert {(row[0], row[3]) for row in found} >= {
        ("lonnymq.wrong()", "42703"),
        ("lonnymq.wrong()", "00000"),
    }


def test_every_function_says_what_it_is_for(connect, dsn_18: str) -> None:
    assert connect(dsn_18).execute(UNDOCUMENTED).fetchall() == []


def test_every_function_is_a_file_of_its_name(connect, dsn_18: str) -> None:
    of_schema = "select proname from pg_proc where pronamespace = 'lonnymq'::regnamespace"
    installed = {name for (name,) in connect(dsn_18).execute(of_schema)}
    assert installed == set(sql_files("functions"))
