"""`lonnymq role`: what a DBA does by hand with GRANT, and restriction."""

import psycopg
import pytest

import lonnymq
from commands import run
from database.security.logins import Login
from lonnymq import install
from lonnymq.errors import NotAllowed


def test_a_role_is_granted_and_revoked(root, guarded: str, login: Login) -> None:
    assert (
        run("role", "grant", "producer", "stranger", dsn=guarded).out
        == "granted: lonnymq_producer\n"
    )
    with lonnymq.Queue(login("stranger")) as queue:
        queue.create("acme", b"x")
        assert run("role", "revoke", "producer", "stranger", dsn=guarded).code == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            queue.create("acme", b"x")


def test_a_producer_is_confined_and_freed(guarded: str, login: Login) -> None:
    admin = login("a_admin")
    ran = run("role", "restrict", "a_producer", "--channel", "acme", "--prefix", "b/", dsn=admin)
    assert ran.out == "restricted: a_producer\n"
    with lonnymq.Queue(login("a_producer")) as queue:
        queue.create("b/1", b"x")
        with pytest.raises(NotAllowed):
            queue.create("globex", b"x")
        listed = run("role", "list", dsn=admin)
        assert "only acme, b/…" in listed.out
        assert (
            run("role", "unrestrict", "a_producer", dsn=admin).out == "unrestricted: a_producer\n"
        )
        queue.create("globex", b"x")
    assert "is not restricted" in run("role", "unrestrict", "a_producer", dsn=admin).err


def test_the_list_has_every_role_and_its_members(guarded: str) -> None:
    document = run("role", "list", "--json", dsn=guarded).json
    assert document["roles"]["lonnymq_consumer"] == ["a_consumer"]
    assert set(document["roles"]) == {
        f"lonnymq_{role}" for role in ("owner", "producer", "consumer", "viewer", "admin")
    }


def test_who_may_not_grant_is_told_what_to_have_run(guarded: str, login: Login) -> None:
    ran = run("role", "grant", "producer", 'odd"name', dsn=login("a_admin"))
    assert ran.code == 1
    assert "Ask an administrator" in ran.err or "does not exist" in ran.err
    ran = run("role", "grant", "producer", "stranger", dsn=login("a_admin"))
    assert 'grant "lonnymq_producer" to "stranger"' in ran.err


def test_a_queue_without_roles_says_how_to_get_them(guarded: str) -> None:
    install(guarded, schema="plain")
    for words in (("list",), ("grant", "producer", "stranger"), ("unrestrict", "stranger")):
        ran = run("role", *words, "--schema", "plain", dsn=guarded)
        assert ran.code == 1
        assert "Run: lonnymq install --roles --schema plain" in ran.err
