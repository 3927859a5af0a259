"""Roles are made by whoever may make them; who may not is told what to have run."""

import subprocess
from pathlib import Path

import psycopg
import pytest

import lonnymq
from commands import run as command
from database.security.logins import ROLES, Login
from lonnymq import install, install_script
from lonnymq.embedded_postgres.cluster import embedded_binaries
from lonnymq.errors import RolesMissing
from support import message_id

pytestmark = pytest.mark.parametrize("fortress", ["pg18", "pg15"], indirect=True)


@pytest.fixture
def builder(root, login: Login):
    """The DSN of a login that may create in this database, and not much more."""
    root.execute("create role builder login; grant create on database guarded to builder")
    yield login("builder")
    root.execute("drop owned by builder cascade; drop role builder")


def drop_roles(root: psycopg.Connection, schema: str) -> None:
    for role in ("owner", *ROLES):
        if root.execute("select to_regrole(%s)", (f"{schema}_{role}",)).fetchone() != (None,):
            root.execute(
                f"drop owned by {schema}_{role} cascade; drop role {schema}_{role}".encode()
            )


def test_who_may_not_create_roles_is_told_what_to_run(root, builder: str) -> None:
    install(builder, schema="shop")
    with pytest.raises(RolesMissing, match="builder may not create the roles") as rejected:
        install(builder, schema="shop", roles=True)
    text = str(rejected.value).partition("install again: ")[2]
    root.execute(text.encode())
    install(builder, schema="shop", roles=True)
    with lonnymq.Queue(builder, schema="shop") as queue:
        assert queue.installed().roles
        queue.create("acme", b"x")
    drop_roles(root, "shop")


def test_who_is_no_member_of_the_owner_is_told_what_to_run(root, builder: str) -> None:
    install(builder, schema="shop")
    for role in ("owner", *ROLES):
        root.execute(f"create role shop_{role}".encode())
    with pytest.raises(RolesMissing, match="builder is no member of shop_owner") as rejected:
        install(builder, schema="shop", roles=True)
    root.execute(str(rejected.value).partition("install again: ")[2].encode())
    install(builder, schema="shop", roles=True)
    drop_roles(root, "shop")


def test_who_may_create_roles_needs_nobody(root, builder: str, guarded: str) -> None:
    root.execute("alter role builder createrole")
    install(builder, schema="shop", roles=True)
    root.execute("update shop.installed set functions_checksum = ''")
    install(builder, schema="shop")  # an upgrade, by the same login
    install(guarded, schema="shop")  # and by a superuser
    with psycopg.connect(builder, autocommit=True) as connection:
        connection.execute("grant shop_producer to stranger")
    theirs = guarded.replace("postgres@", "stranger@", 1)
    with lonnymq.Queue(theirs, schema="shop") as queue:
        assert message_id(queue.create("acme", b"x"))
    drop_roles(root, "shop")


def test_two_queues_have_roles_of_their_own(root, guarded: str, login: Login) -> None:
    install(guarded, schema="shop", roles=True)
    with lonnymq.Queue(login("a_producer"), schema="shop") as queue:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            queue.create("acme", b"x")
        root.execute("grant shop_producer to a_producer")
        queue.create("acme", b"x")
    drop_roles(root, "shop")


def test_the_printed_script_makes_the_roles_too(root, guarded: str, tmp_path: Path) -> None:
    file = tmp_path / "install.sql"
    file.write_text(install_script("shop", roles=True))
    psql = [str(embedded_binaries() / "psql"), "-q", "-v", "ON_ERROR_STOP=1", "-f", str(file)]
    subprocess.run([*psql, guarded], check=True, capture_output=True)
    with lonnymq.Queue(guarded, schema="shop") as queue:
        assert queue.installed().roles
    drop_roles(root, "shop")


def test_the_command_grants_and_revokes(root, guarded: str) -> None:
    assert command("install", "--schema", "shop", dsn=guarded).out.startswith("installed")
    assert command("install", "--schema", "shop", "--roles", dsn=guarded).out.startswith("granted")
    assert command("install", "--schema", "shop", dsn=guarded).out.startswith("unchanged")
    assert command("install", "--schema", "shop", "--no-roles", dsn=guarded).out.startswith(
        "revoked"
    )
    assert "create role" in command("sql", "--roles").out
    drop_roles(root, "shop")


@pytest.mark.parametrize("role", ROLES)
def test_every_role_may_ask_for_the_version(guarded: str, login: Login, role: str) -> None:
    with lonnymq.Queue(login(f"a_{role}")) as queue:
        assert queue.installed().roles


@pytest.mark.parametrize("role", ["viewer", "admin"])
def test_the_status_command_works_for_a_role(login: Login, role: str) -> None:
    assert command("status", dsn=login(f"a_{role}")).code == 0
