"""Errors are told apart by SQLSTATE, whichever library carries it."""

import pytest

from lonnymq import errors
from lonnymq.errors import (
    BY_SQLSTATE,
    LonnyMQError,
    NotInstalled,
    sqlstate_of,
    translate,
    translated,
)


class DriverError(Exception):
    def __init__(self, sqlstate: str | None, text: str = "said by the server") -> None:
        super().__init__(text)
        self.sqlstate = sqlstate


class SQLAlchemyError(Exception):
    def __init__(self, orig: BaseException) -> None:
        super().__init__("(wrapped) [SQL: select …]")
        self.orig = orig


def caused_by(cause: BaseException) -> Exception:
    error = Exception("django.db.utils.DatabaseError")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("code", BY_SQLSTATE)
def test_each_code_has_its_class(code: str) -> None:
    assert type(translate(DriverError(code))) is BY_SQLSTATE[code]


@pytest.mark.parametrize(
    "wrap", [lambda e: e, SQLAlchemyError, caused_by, lambda e: SQLAlchemyError(caused_by(e))]
)
def test_the_code_is_found_in_what_libraries_wrap(wrap) -> None:
    assert sqlstate_of(wrap(DriverError("LM002"))) == "LM002"


def test_the_text_decides_nothing() -> None:
    assert translate(DriverError("23505", "LM001 invalid argument")) is None
    assert translate(DriverError(None, "LM001")) is None


def test_a_circle_of_causes_ends() -> None:
    error = Exception()
    error.__cause__ = caused_by(error)
    assert sqlstate_of(error) is None


def test_other_errors_pass_through_and_the_drivers_is_the_cause_of_ours() -> None:
    with pytest.raises(DriverError), translated():
        raise DriverError("23505")
    with pytest.raises(NotInstalled, match=r"queue\.install\(\)") as raised, translated():
        raise DriverError("3F000")
    assert isinstance(raised.value.__cause__, DriverError)


def test_every_error_derives_from_one_and_its_docstring_is_advice() -> None:
    classes = [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, LonnyMQError)
    ]
    assert len(classes) > 10
    assert all(each.__doc__ and each.__doc__.endswith(".") for each in classes)


def test_a_bad_argument_is_a_value_error_too() -> None:
    assert issubclass(errors.InvalidArgument, ValueError)
