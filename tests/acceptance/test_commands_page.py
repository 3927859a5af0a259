"""The page of commands is what the commands of this version say of themselves."""

import importlib

import pytest
import typer

from documents import ROOT
from lonnymq.cli import app as root


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("make_commands")


def test_the_page_is_up_to_date(commands) -> None:
    assert commands.render_page() == commands.PAGE.read_text(), "run: make reference"


def test_every_command_has_an_entry_with_its_options(commands) -> None:
    page = commands.render_page()
    for path in ("install", "channel set", "message create", "dead redrive", "watch", "doctor"):
        assert f"\n### {path}\n" in page
    assert (
        "| `--max-concurrency N` | - | Maximum number of messages that run at the same time. |"
        in page
    )
    assert "| `--limit LIMIT` | `50` | Maximum number of rows. |" in page


def test_a_new_command_is_noticed(commands, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    (tmp_path / "extra_command.py").write_text(
        "import typer\napp = typer.Typer()\n@app.command()\ndef extra(x: int = 3):\n    'Do more.'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(root.COMMANDS, "extra", root.CommandSource("extra_command"))
    page = commands.render_page()
    assert "| [`extra`](#extra) | Do more. |" in page
    assert "| `--x X` | `3` |" in page
    assert typer.__version__
