"""The root of the command line: what is listed exists, and one command does not pay for another's imports."""

import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_command

from commands import run
from lonnymq.cli.app import COMMANDS, CommandSource, app
from lonnymq.cli.errors import find_passwords, hide_passwords

EXPECTED = {"install", "sql", "status", "watch", "channel", "message", "dead", "doctor"}


def list_commands() -> list[str]:
    root: Any = get_command(app)
    names: list[str] = root.list_commands(None)
    return names


def test_all_commands_that_exist_are_listed_and_load() -> None:
    root: Any = get_command(app)
    listed = list_commands()
    assert set(listed) >= EXPECTED
    for name in listed:
        command = root.get_command(None, name)
        assert command.name == name
        assert command.help


def test_a_command_whose_part_of_the_library_is_absent_is_not_listed(monkeypatch) -> None:
    monkeypatch.setitem(
        COMMANDS, "dashboard", CommandSource("lonnymq.cli.commands.status", "lonnymq.no_such_part")
    )
    assert "dashboard" not in list_commands()
    assert "No such command 'dashboard'" in run("dashboard").err
    monkeypatch.setitem(
        COMMANDS, "dashboard", CommandSource("lonnymq.cli.commands.status", "lonnymq.client")
    )
    assert "dashboard" in list_commands()


@pytest.mark.parametrize(
    "module", ["psycopg", "lonnymq.cli.commands.status", "lonnymq.worker", "rich.table"]
)
def test_a_command_that_does_not_need_a_module_does_not_import_it(module: str) -> None:
    program = (
        "import sys\nfrom lonnymq.cli.app import app\n"
        "app(['sql', '--schema', 'x'], standalone_mode=False)\n"
        f"sys.exit({module!r} in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True)
    needs = {"psycopg": 1}  # the script is the installer's, which knows connections
    assert ran.returncode == needs.get(module, 0), ran.stderr


def test_help_says_what_each_command_is_for() -> None:
    for name in list_commands():
        ran = run(name, "--help")
        assert ran.code == 0
        assert "Usage: " in ran.out


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me:pass%2Fword@host/db",
        "postgres://me:pass%2Fword@host",
        "host=x password=pass/word",
        "host=x password='pass/word' user=me",
        "postgresql://host/db?password=pass%2Fword&user=me",
    ],
)
def test_a_password_is_hidden_however_it_is_written(dsn: str) -> None:
    assert {"pass/word"} <= find_passwords(dsn)
    results = hide_passwords(f"cannot connect: {dsn} with pass/word", dsn)
    assert "pass" not in results.replace("password", "")


def test_the_password_of_the_environment_is_hidden_too(monkeypatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "hush")
    assert hide_passwords("it was hush", "host=x") == "it was ***"
