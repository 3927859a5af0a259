"""The command line: `lonnymq`. This is its door; what is behind needs the extra `cli`."""

from __future__ import annotations

import sys

NEEDED = ("typer", "rich")
WITHOUT_EXTRA = "The command line needs an extra. Run: pip install 'lonnymq[cli]'"


def main() -> None:
    """Run the command that the process was started with."""
    try:
        from lonnymq.cli.app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in NEEDED:
            raise
        sys.exit(WITHOUT_EXTRA)
    run()
