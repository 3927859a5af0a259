"""Arrays are packed in PostgreSQL's binary form, and come out as what they were."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest

from lonnymq.client import array_dumpers
from lonnymq.client.arguments import Contents, Identifiers, Texts, Tokens

LISTS = [
    ("text[]", Texts(["a", "ü", "日本", ""])),
    ("bytea[]", Contents([b"", b"\0\xff", b"x" * 70_000])),
    ("bigint[]", Identifiers([0, -1, 2**63 - 1, -(2**63)])),
    ("uuid[]", Tokens([uuid4(), uuid4()])),
]
array_dumpers.register()


@pytest.mark.parametrize("kind", [kind for kind, _ in LISTS])
def test_an_empty_array_is_an_empty_array(direct_dsn: str, kind: str) -> None:
    empty = type(dict(LISTS)[kind])()
    with psycopg.connect(direct_dsn) as connection:
        assert connection.execute(f"select %s::{kind} = '{{}}'", (empty,)).fetchone() == (True,)


@pytest.mark.parametrize(("kind", "values"), LISTS, ids=[kind for kind, _ in LISTS])
@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_what_goes_in_comes_out(
    direct_dsn: str, kind: str, values: list[object], binary: bool
) -> None:
    with psycopg.connect(direct_dsn) as connection:
        cursor = connection.execute(f"select %s::{kind}", (values,), binary=binary)
        assert cursor.fetchone() == (list(values),)


def test_texts_are_packed_in_the_encoding_that_the_connection_speaks(direct_dsn: str) -> None:
    with psycopg.connect(direct_dsn, client_encoding="latin1") as connection:
        row = connection.execute("select %s::text[]", (Texts(["ü"]),)).fetchone()
        assert row == (["ü"],)
