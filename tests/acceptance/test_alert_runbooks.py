"""The runbooks of the alerts name commands that there are, and queries that PostgreSQL takes."""

import re

import pytest

from commands import run as command
from documents import ROOT
from lonnymq.testing import run as execute

PAGE = (ROOT / "docs" / "guides" / "alerts.md").read_text()
INLINE = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))
COMMANDS = [each for each in INLINE if each.startswith("lonnymq ")]
STATEMENTS = [each for each in INLINE if each.endswith(";")]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_a_runbook_is_there(line: str) -> None:
    assert command(*line.split()[1:], "--help").code == 0


def test_queries_of_runbooks_run(dsn_18: str) -> None:
    assert len(STATEMENTS) == 3
    for statement in STATEMENTS:
        execute(dsn_18, statement)
