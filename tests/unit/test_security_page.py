"""The page about security shows the grants as they are."""

import importlib

import pytest

from documents import ROOT


@pytest.fixture
def grants(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("make_grants_table")


def test_the_table_of_grants_is_up_to_date(grants) -> None:
    assert grants.page() == grants.PAGE.read_text(), "run: make reference"


def test_every_line_of_the_grants_is_in_it(grants) -> None:
    written = grants.sql_files("install")["grants"].count("('")
    assert len(grants.ROW.findall(grants.sql_files("install")["grants"])) == written
    assert "| `message_create` | x | | | x |" in grants.table()
