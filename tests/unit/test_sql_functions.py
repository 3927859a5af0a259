"""The shape of the SQL functions: short, with few parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lonnymq.client.installation import sql_files

LINES = 100
PARAMETERS = 8
# Called by people, who name the arguments that they give: the others are options with defaults.
WITH_OPTIONS = {"claim_take", "schedule_set"}
FUNCTION = re.compile(
    r"^create or replace function lonnymq\.(\w+)\((.*?)\)\n?(?: |\n)*(?:returns|language)\b.*?\$\$.*?^\$\$;",
    re.DOTALL | re.MULTILINE,
)


def functions(texts: Iterator[str]) -> Iterator[tuple[str, int, int]]:
    """Each function with its lines and its parameters that are handed in."""
    for text in texts:
        for match in FUNCTION.finditer(text):
            handed = [each for each in match[2].split(",") if each.strip()]
            handed = [each for each in handed if each.split()[0] != "out"]
            yield match[1], match[0].count("\n") + 1, len(handed)


def shapes() -> list[tuple[str, int, int]]:
    return list(functions(iter(sql_files("functions").values())))


def test_every_function_is_read() -> None:
    assert {name for name, _, _ in shapes()} == set(sql_files("functions"))


def test_no_function_is_longer_than_100_lines() -> None:
    assert {name for name, lines, _ in shapes() if lines > LINES} == set()


def test_no_function_takes_more_than_8_parameters() -> None:
    granted = set(re.findall(r"^  \('(\w+)'", sql_files("install")["grants"], re.MULTILINE))
    assert granted >= WITH_OPTIONS
    assert {name for name, _, count in shapes() if count > PARAMETERS} == WITH_OPTIONS


def test_what_is_too_much_is_counted() -> None:
    parameters = ", ".join(f"p_{number} numeric" for number in range(9))
    body = "\n".join(["  select 1"] * 101)
    text = (
        f"create or replace function lonnymq.wrong(\n  {parameters},\n  out answer text\n)\n"
        f"language sql\nas $$\n{body}\n$$;\n"
    )
    assert list(functions(iter([text]))) == [("wrong", 108, 9)]
