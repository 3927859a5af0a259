import pytest

from lonnymq.errors import InvalidArgument
from lonnymq.spark.options import OPTIONS, read_options

URL = "postgresql://user:secret@host/database"


def test_names_are_read_in_any_case() -> None:
    options = read_options({"URL": URL, "NUMPARTITIONS": "3", "includecontent": "False"}, "read")
    assert (options["numPartitions"], options["includeContent"]) == (3, False)


def test_an_option_that_is_not_set_has_its_default() -> None:
    options = read_options({"url": URL}, "write")
    assert (options.schema, options["failOnReject"], options.table) == ("lonnymq", False, None)


def test_an_unknown_option_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(
        InvalidArgument, match=r"for a read: sbuscribe\. The known options are .*numPartitions"
    ):
        read_options({"url": URL, "sbuscribe": "acme"}, "read")


def test_an_option_of_another_operation_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"unknown option for a write: numPartitions"):
        read_options({"url": URL, "numpartitions": "2"}, "write")


def test_what_is_said_to_spark_is_let_through() -> None:
    read_options({"url": URL, "checkpointLocation": "/tmp/here"}, "stream write")


def test_a_missing_url_is_named() -> None:
    with pytest.raises(InvalidArgument, match="the option url is missing"):
        read_options({}, "read")


def test_user_and_password_may_be_given_apart() -> None:
    given = {"url": "postgresql://host/database", "user": "me", "password": "it's"}
    assert "user=me password=it\\'s" in read_options(given, "read").url


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("numPartitions", "0", "must be a whole number of at least 1, not '0'"),
        ("includeContent", "perhaps", "must be true or false"),
        ("snapshotTimeout", "soon", "number with ms, s, m, h or d"),
        ("path", "letters", "must be one of messages, history, channels"),
        ("schema", "My Queue", "schema"),
        ("url", "jdbc:postgresql://host/database", "must not begin with jdbc:"),
        ("url", "host", "must look like postgresql://"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_with_what_is(
    name: str, value: str, text: str
) -> None:
    with pytest.raises(InvalidArgument, match=text):
        read_options({"url": URL, name: value}, "read")


@pytest.mark.parametrize(
    ("value", "milliseconds"), [("250", 250), ("30s", 30_000), ("2 h", 7_200_000)]
)
def test_a_duration_may_have_a_unit(value: str, milliseconds: int) -> None:
    options = read_options({"url": URL, "snapshotTimeout": value}, "read")
    assert options["snapshotTimeout"] == milliseconds


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:s%ecret@host/database",
        "postgresql://user:secret@[host/database",
        "postgres:user:secret@host",
        "user=me pass word=secret",
    ],
)
def test_no_error_shows_a_password(url: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_options({"url": url}, "read")
    assert "ecret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_what_was_read_shows_no_password() -> None:
    assert "secret" not in repr(read_options({"url": URL}, "read"))


def test_every_option_has_a_description_and_an_operation() -> None:
    assert all(option.description and option.operations for option in OPTIONS)
    assert len({option.name.lower() for option in OPTIONS}) == len(OPTIONS)
