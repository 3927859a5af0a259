"""Functions that run as their owner take nothing from who calls them: a hostile search_path changes nothing."""

import psycopg
import pytest

from database.security.logins import Login

TRAP = """
create schema trap authorization a_producer;
set role a_producer;
create table trap.caught (who text);
grant all on schema trap to public;
grant insert on trap.caught to public;
create function trap.spring(text, text) returns boolean language plpgsql as $$
begin
  insert into trap.caught values (current_user);
  return $1 operator(pg_catalog.=) $2;
end
$$;
create operator trap.= (leftarg = text, rightarg = text, function = trap.spring);
create function trap.octet_length(text) returns integer language plpgsql as $$
begin
  insert into trap.caught values (current_user);
  return pg_catalog.octet_length($1);
end
$$;
reset role;
"""


def caught(root: psycopg.Connection) -> set[str]:
    return {who for (who,) in root.execute("select who from trap.caught")}


def create(connection: psycopg.Connection) -> None:
    connection.execute("set search_path = trap, pg_catalog")
    connection.execute("select lonnymq.message_create('acme', 'x', p_key => 'n')")


def test_operators_and_functions_of_the_caller_are_not_used(root, login: Login) -> None:
    root.execute(TRAP)
    with psycopg.connect(login("a_producer"), autocommit=True) as connection:
        create(connection)
    assert caught(root) == set()


def test_without_a_fixed_search_path_they_would_run_as_the_owner(root, login: Login) -> None:
    root.execute(TRAP)
    root.execute("alter function lonnymq.message_create reset search_path")
    with psycopg.connect(login("a_producer"), autocommit=True) as connection:
        create(connection)
    assert caught(root) == {"lonnymq_owner"}


def test_a_temporary_table_is_not_taken_for_a_catalog(root, login: Login) -> None:
    with psycopg.connect(login("a_producer"), autocommit=True) as connection:
        connection.execute(
            "create temporary table pg_roles (rolname text, oid oid, rolsuper boolean)"
        )
        connection.execute("insert into pg_roles values ('a_producer', 10, true)")
        root.execute("select lonnymq.producer_restrict('a_producer', array['acme'])")
        with pytest.raises(psycopg.Error) as rejected:
            connection.execute("select lonnymq.message_create('globex', 'x')")
        assert rejected.value.sqlstate == "LM007"


@pytest.mark.parametrize("name", ["a_consumer", "a_admin"])
def test_a_dequeue_looks_at_the_callers_transaction_all_the_same(login: Login, name: str) -> None:
    with psycopg.connect(login(name), autocommit=True) as connection:
        connection.execute("begin")
        connection.execute("select pg_current_xact_id()")
        with pytest.raises(psycopg.Error) as written:
            connection.execute("select * from lonnymq.message_dequeue()")
        assert written.value.sqlstate == "LM003"
        connection.execute("rollback")
        connection.execute("begin isolation level repeatable read")
        with pytest.raises(psycopg.Error) as isolated:
            connection.execute("select * from lonnymq.message_dequeue()")
        assert isolated.value.sqlstate == "LM004"


def test_a_dequeue_relaxes_its_own_commit_and_a_create_after_it_does_not(
    root, login: Login
) -> None:
    root.execute("select lonnymq.message_create('acme', 'x')")
    root.execute("grant lonnymq_producer to a_consumer")
    with psycopg.connect(login("a_consumer"), autocommit=True) as connection:
        connection.execute("begin")
        connection.execute("select * from lonnymq.message_dequeue()")
        assert connection.execute("show synchronous_commit").fetchone() == ("off",)
        connection.execute("select lonnymq.message_create('acme', 'x')")
        assert connection.execute("show synchronous_commit").fetchone() == ("on",)
        connection.execute("commit")
        assert connection.execute("show idle_in_transaction_session_timeout").fetchone() == ("0",)
    root.execute("revoke lonnymq_producer from a_consumer")
