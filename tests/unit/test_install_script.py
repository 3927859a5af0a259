"""The install script as text."""

import re

import pytest

from lonnymq import install_script
from lonnymq.client.installation import filled, rank
from lonnymq.errors import BadSchemaName


def test_the_script_names_the_schema_and_no_other() -> None:
    assert "create schema other;" in install_script("other")
    assert not re.search(r"\blonnymq\b", install_script("other"))


def test_a_bad_schema_name_makes_no_script() -> None:
    with pytest.raises(BadSchemaName):
        install_script("x; drop table y")


def test_the_script_is_one_transaction() -> None:
    assert install_script().startswith("begin;\nset transaction isolation level read committed;\n")
    assert install_script().endswith("commit;\n")


def test_versions_rank_by_their_numbers() -> None:
    assert [rank(each) for each in ("0.1.0", "1.10.2rc1", "2.0.dev3+g12")] == [
        "{0,1,0}",
        "{1,10,2}",
        "{2,0}",
    ]


def test_places_are_filled_and_casts_are_left() -> None:
    assert (
        filled("x = :rank::integer[] and y = :name", rank="'{1}'", name="'n'")
        == "x = '{1}'::integer[] and y = 'n'"
    )
