"""Shells complete commands, their parts and their options."""

import pytest

from commands import process


def completed(line: str, shell: str = "bash") -> str:
    words = line.split(" ")
    variables = {
        "_LONNYMQ_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": words[-1],
    }
    return process(dsn="postgresql://127.0.0.1:1/x", variables=variables).out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("lonnymq chan", "channel"),
        ("lonnymq channel re", "resume"),
        ("lonnymq dead redrive --cha", "--channel"),
        ("lonnymq watch --sort run", "running"),
    ],
)
def test_what_was_begun_is_completed(shell: str, line: str, word: str) -> None:
    assert word in completed(line, shell)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_can_be_printed(shell: str) -> None:
    ran = process(
        dsn="postgresql://127.0.0.1:1/x", variables={"_LONNYMQ_COMPLETE": f"source_{shell}"}
    )
    assert "_LONNYMQ_COMPLETE=complete_" + shell in ran.out
