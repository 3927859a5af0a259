"""The reference page is what the functions of this version say of themselves."""

import importlib

import psycopg
import pytest

from documents import ROOT


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("make_reference")


@pytest.fixture
def connection(dsn_18: str, connect) -> psycopg.Connection:
    return connect(dsn_18)


def test_the_reference_is_up_to_date(reference, connection) -> None:
    assert reference.page(connection) == reference.PAGE.read_text(), "run: make reference"


def test_a_changed_comment_and_a_changed_argument_are_noticed(reference, connection) -> None:
    before = reference.page(connection)
    connection.execute("drop view arguments")
    connection.execute("comment on function lonnymq.channel_pause(text) is 'Something else.'")
    connection.execute("drop function lonnymq.channel_resume(text)")
    connection.execute(
        "create function lonnymq.channel_resume(p_name text) returns text language sql as 'select p_name'"
    )
    after = reference.page(connection)
    assert "| Something else. |" in after
    assert "channel_resume(p_name text)" in after
    assert before != after


def test_every_public_function_has_an_entry(reference, connection) -> None:
    page = reference.page(connection)
    for name in reference.roles():
        assert f"\n### {name}\n" in page
        assert f"| [`{name}`](#{name}) |" in page
