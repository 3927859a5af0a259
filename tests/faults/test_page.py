"""docs/reliability.md says of every promise how it is shown: by scenarios and tests that there are."""

import re
from pathlib import Path

from faults.scenarios import NAMES
from faults.schedule import KINDS
from faults.variants import REVEALED_BY

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
TEXT = PAGE.read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table after some words, without its head."""
    lines = TEXT[TEXT.index(heading) :].splitlines()
    table = [line for line in lines if line.startswith("|")]
    end = next(
        (
            at
            for at, line in enumerate(lines)
            if at and line == "" and lines[at - 1].startswith("|")
        ),
        len(lines),
    )
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines[:end]
        if line in table
    ][2:]


def test_every_promise_says_how_it_is_shown() -> None:
    assert [
        promise for promise, scenarios, tests in rows("## Promises") if not scenarios and not tests
    ] == []


def test_every_scenario_tries_to_break_a_promise() -> None:
    named = {name for _, cell, _ in rows("## Promises") for name in re.findall("`([a-z_]+)`", cell)}
    assert named == set(NAMES)


def test_what_it_links_to_is_there() -> None:
    links = re.findall(r"\]\((\.\./[^)#]+)", TEXT)
    assert links
    assert [link for link in links if not (PAGE.parent / link).exists()] == []


def test_every_fault_and_every_known_bad_variant_is_told_of() -> None:
    results = {
        name for cell, _ in rows("A schedule of faults") for name in re.findall("`([a-z_]+)`", cell)
    }
    assert set(KINDS) <= results
    variants = rows("### The checker can fail")
    assert len(variants) == len(REVEALED_BY)
    found = {name for _, cell in variants for name in re.findall("in `([a-z]+)`", cell)}
    assert found == {scenario for scenario, _ in REVEALED_BY.values()}
