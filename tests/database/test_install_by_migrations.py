"""Installing from the migrations of Alembic and Django, in the transactions that these tools open."""

from collections.abc import Iterator
from typing import Any

import django
import pytest
from django.conf import settings
from django.db import connection, connections, migrations, transaction
from django.db.migrations.state import ProjectState
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Connection, create_engine
from sqlalchemy.engine import make_url

import lonnymq
from lonnymq import install, install_script
from lonnymq.testing import run

if not settings.configured:
    settings.configure(
        DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "unset"}}
    )
    django.setup()

SCHEMA = "migrated"


def is_installed(dsn: str) -> bool:
    with lonnymq.Queue(dsn, schema=SCHEMA) as queue:
        try:
            queue.create("acme", b"x")
        except lonnymq.errors.NotInstalled:
            return False
        return len(queue.dequeue()) == 1


@pytest.fixture
def django_database(dsn_18: str) -> Iterator[None]:
    known = conninfo_to_dict(dsn_18)
    connection.settings_dict.update(
        NAME=known["dbname"], USER=known["user"], HOST=known["host"], PORT=known["port"], OPTIONS={}
    )
    yield
    connections.close_all()


def install_in_django(apps: object, editor: Any) -> None:
    install(editor.connection.connection, schema=SCHEMA)


OPERATIONS = {
    "RunPython": lambda: migrations.RunPython(install_in_django),
    "RunSQL": lambda: migrations.RunSQL(install_script(SCHEMA, transaction=False)),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.usefixtures("django_database")
def test_a_migration_of_django_installs_and_is_undone_as_a_whole(
    dsn_18: str, operation: str
) -> None:
    migration = migrations.Migration("0001", "jobs")
    migration.operations = [OPERATIONS[operation]()]
    with transaction.atomic(), connection.schema_editor(atomic=True) as editor:
        migration.apply(ProjectState(), editor)
        transaction.set_rollback(True)
    assert not is_installed(dsn_18)
    with connection.schema_editor(atomic=True) as editor:
        migration.apply(ProjectState(), editor)
    assert is_installed(dsn_18)


def upgrade(bind: Connection) -> None:
    """As in a migration of Alembic, where `op.get_bind()` is such a connection."""
    script = install_script(SCHEMA, transaction=False)
    bind.execution_options(no_parameters=True).exec_driver_sql(script)


def test_an_upgrade_of_alembic_installs_in_its_transaction(dsn_18: str) -> None:
    engine = create_engine(make_url(dsn_18).set(drivername="postgresql+psycopg"))
    with engine.connect() as bind:
        upgrade(bind)
        bind.rollback()
    assert not is_installed(dsn_18)
    with engine.begin() as bind:
        upgrade(bind)
    engine.dispose()
    assert is_installed(dsn_18)


def test_a_script_without_a_transaction_of_its_own_can_be_part_of_another_script(
    dsn_18: str,
) -> None:
    script = install_script(SCHEMA, transaction=False)
    assert "\nbegin;\n" not in f"\n{script}"
    run(dsn_18, f"begin; {script} rollback")
    assert not is_installed(dsn_18)
