"""Error texts are kept whole where they matter, cut, and clean; passwords are in no text."""

from typing import Any

import pytest

from lonnymq.worker.error_text import MAX_BYTES, format_error, hide_password, locate_error


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def test_an_error_is_kept_with_its_traceback_and_its_cause() -> None:
    try:
        try:
            dict[str, int]()["missing"]
        except KeyError as cause:
            raise ValueError("no such video") from cause
    except ValueError as error:
        text = format_error(error)
    assert "KeyError: 'missing'" in text
    assert "test_error_text.py" in text
    assert text.endswith("ValueError: no such video")


def test_nul_and_lone_surrogates_are_replaced() -> None:
    text = format_error(raised(ValueError("a\0b\ud800c")))
    assert text.endswith("a\N{REPLACEMENT CHARACTER}b?c")
    text.encode()


@pytest.mark.parametrize("letter", ["x", "ü", "𝄞"])
def test_a_long_text_keeps_its_beginning_and_its_end(letter: str) -> None:
    text = format_error(raised(ValueError("begin" + letter * 100_000 + "end")))
    assert len(text.encode()) <= MAX_BYTES
    assert "Traceback" in text[:100]
    assert text.endswith("end")
    assert "bytes cut" in text


def test_a_deep_traceback_is_cut_to_its_last_frames() -> None:
    def fall(depth: int) -> None:
        if not depth:
            raise ValueError("bottom")
        fall(depth - 1)

    with pytest.raises(ValueError, match="bottom") as caught:
        fall(200)
    assert format_error(caught.value).endswith("ValueError: bottom")


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Odd(Exception):
    def __str__(self) -> Any:
        return 7


@pytest.mark.parametrize("kind", [Hostile, Odd])
def test_an_exception_that_cannot_be_shown_is_named(kind: type[Exception]) -> None:
    assert kind.__name__ in format_error(raised(kind()))


def test_a_group_of_errors_is_shown() -> None:
    group = ExceptionGroup("both", [ValueError("one"), KeyError("two")])
    assert {"one", "two"} <= set(format_error(raised(group)).replace("'", " ").split())


def test_where_an_error_came_from_is_told_without_its_words() -> None:
    output = locate_error(raised(ValueError("canary")))
    assert output.startswith("ValueError at ")
    assert "canary" not in output


@pytest.mark.parametrize("dsn", ["postgresql://u:p%40ss@h/d", "user=u password=p@ss host=h"])
def test_a_complaint_is_told_without_the_password(dsn: str) -> None:
    output = hide_password(f"cannot connect to {dsn} with p@ss or p%40ss", dsn)
    assert "p@ss" not in output
