"""The command line: `lonnymq`. Everything except this module needs the extra `cli`."""

from __future__ import annotations

import sys

EXTRA_MODULES = ("typer", "rich")
MISSING_EXTRA = "The command line needs an extra. Run: pip install 'lonnymq[cli]'"


def main() -> None:
    """Run the command line of the process."""
    try:
        from lonnymq.cli.app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in EXTRA_MODULES:
            raise
        sys.exit(MISSING_EXTRA)
    run()
