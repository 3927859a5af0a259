"""Payloads, errors and cursors, whatever is in them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lonnymq.dashboard.api.content import (
    format_content,
    format_preview,
    parse_json,
    summarize_error,
)
from lonnymq.dashboard.errors import ApiError
from lonnymq.dashboard.request import decode_cursor, encode_cursor

NO_NUL = st.characters(codec="utf-8", exclude_characters="\0")
PARTS = st.one_of(st.text(NO_NUL), st.integers(-(2**62), 2**62))


def test_json_is_shown_in_lines_text_as_it_is_and_the_rest_as_bytes() -> None:
    def shown(data: bytes) -> tuple[str, str | None]:
        found = format_content(data, len(data))
        assert found is not None
        return found["kind"], found["text"]

    assert shown(b'{"a":[1]}') == ("json", '{\n  "a": [\n    1\n  ]\n}')
    assert shown(b"7") == ("text", "7")
    assert shown("grüße\n".encode()) == ("text", "grüße\n")
    assert shown(b"{broken") == ("text", "{broken")
    assert shown(b"\x00\x01") == ("hex", None)
    assert shown(b"\x1b[31m") == ("hex", None)
    assert shown(b"") == ("text", "")
    assert shown(b"[" * 20_000) == ("text", "[" * 20_000)


def test_a_large_payload_is_cut_between_characters() -> None:
    data = "ü🦄".encode()
    for end in range(1, len(data)):
        found = format_content(data[:end], 100)
        assert found is not None
        assert (found["cut"], found["shown"], found["size"]) == (True, end, 100)
        assert found["kind"] == "text"


@given(st.binary(max_size=200))
def test_any_payload_can_be_shown(data: bytes) -> None:
    found = format_content(data, len(data))
    assert found is not None
    assert bytes.fromhex(found["hex"]) == data
    json.dumps([found, format_preview(data, len(data))])
    assert "\n" not in format_preview(data, len(data))


def test_numbers_that_json_cannot_say_are_spelled_out() -> None:
    text = '{"a": 1' + "0" * 400 + '.5, "b": 1.5}'
    found = parse_json(text)
    assert found["b"] == 1.5
    json.dumps(found, allow_nan=False)
    assert parse_json(None) is None


def test_what_went_wrong_is_the_last_line() -> None:
    assert summarize_error("Traceback\n  File x\nValueError: no\n\n") == "ValueError: no"
    assert summarize_error("") is None
    assert summarize_error(None) is None


@given(st.lists(PARTS, max_size=3))
def test_a_cursor_comes_out_as_it_went_in(parts: list[str | int]) -> None:
    assert decode_cursor(encode_cursor(*parts), (), *map(type, parts)) == parts


@given(st.text(max_size=50))
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(ApiError) as rejected:
        decode_cursor(text, (), str, int, str, int)
    assert rejected.value.code == "invalid"


@pytest.mark.parametrize(
    "cursor", [encode_cursor(2**63), encode_cursor("a"), encode_cursor(True), encode_cursor(1, 2)]
)
def test_a_cursor_of_another_list_is_refused(cursor: str) -> None:
    with pytest.raises(ApiError):
        decode_cursor(cursor, (0,), int)


def test_a_cursor_with_what_cannot_be_stored_is_refused() -> None:
    with pytest.raises(ApiError):
        decode_cursor(encode_cursor("a\0"), ("",), str)
