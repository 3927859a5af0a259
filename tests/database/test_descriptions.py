"""What the descriptions say of the SQL functions is true of the installed ones."""

import psycopg
import pytest

from lonnymq.client.adapters import number_placeholders
from lonnymq.client.calls import DESCRIPTIONS
from unit.test_calls import every_call

ARGUMENTS = """
select p.proname, array_agg(p.pronargs) from pg_proc p
where p.pronamespace = 'lonnymq'::regnamespace group by 1
"""


def test_every_call_can_be_prepared(dsn_18: str, connect) -> None:
    connection = connect(dsn_18)
    for number, call in enumerate(every_call().values()):
        connection.execute(f"prepare call_{number} as {number_placeholders(call.sql)}".encode())


def test_no_argument_is_left_out(dsn_18: str, connect) -> None:
    known = dict(connect(dsn_18).execute(ARGUMENTS).fetchall())
    without = {"epoch"}  # tells the time of now
    for name, call in every_call().items():
        if name not in without:
            assert len(call.parameters) in known[DESCRIPTIONS[name].function], name


def test_a_column_and_a_type_that_do_not_exist_are_found(dsn_18: str, connect) -> None:
    sql = number_placeholders(every_call()["message_create"].sql)
    for right, wrong in (("r.reason", "r.nothing"), ("::bytea", "::integer")):
        with pytest.raises(psycopg.ProgrammingError):
            connect(dsn_18).execute(f"prepare wrong as {sql.replace(right, wrong)}".encode())
