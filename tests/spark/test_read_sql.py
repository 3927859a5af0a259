import psycopg
import pytest

from lonnymq.spark.read.sql import quote_literal

TEXTS = ["", "plain", "it's", "\\", "\\'", "''\\\\'", "E'x'", "ä \n %s", "'; drop table x; --"]


@pytest.mark.parametrize("setting", ["on", "off"])
def test_a_literal_is_the_text_that_it_was_made_of(connect, dsn_18: str, setting: str) -> None:
    connection: psycopg.Connection = connect(dsn_18)
    connection.execute(f"set standard_conforming_strings = {setting}")
    for text in TEXTS:
        assert connection.execute(f"select {quote_literal(text)}").fetchone() == (text,)
