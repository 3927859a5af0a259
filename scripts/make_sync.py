"""Writes the synchronous half of the client, `client/_sync`, from the asynchronous half: words are replaced.

    python scripts/make_sync.py [--check]

With `--check` nothing is written, and the exit status tells whether a file differs.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "src" / "lonnymq" / "client"
OPENING = "# scripts/make_sync.py writes this file from {source}: do not edit it.\n"
# In this order: the first ones are more exact.
REPLACEMENTS = [
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\b_async\b", "_sync"),
    (r"\(asyncio\.CancelledError, KeyboardInterrupt\)", "KeyboardInterrupt"),
    (r"\b(install|run_using|time_limit|wait|wait_event|read_notifications)_async\b", r"\1"),
    (
        r"\bimport asyncio\n",
        "import threading\nimport time\n",
    ),  # ruff takes away the one that is not used
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\basyncio\.Lock\b", "threading.RLock"),
    (r"\basyncio\.Event\b", "threading.Event"),
    (r"\bAbstractAsyncContextManager\b", "AbstractContextManager"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\b__a(enter|exit)__\b", r"__\1__"),
    (r"\b[aA]n (Async)(?=[A-Z])", "a "),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\basynchronous\b", "synchronous"),
    (r"\ban async\b", "a"),
    (r"\bby many tasks\b", "from many threads"),
    (r" scripts/make_methods.py writes this file: do not edit it\.", ""),
]


def sync_text(source: Path) -> str:
    """The synchronous module that an asynchronous one becomes."""
    text = source.read_text()
    for pattern, replacement in REPLACEMENTS:
        text = re.sub(pattern, replacement, text)
    return formatted(OPENING.format(source=f"_async/{source.name}") + text)


def formatted(text: str) -> str:
    """The text as ruff formats it, with sorted imports without unused ones, and with joined `with` statements."""
    check = [
        "check",
        "--quiet",
        "--fix-only",
        "--select",
        "I,F401,SIM117",
        "--stdin-filename",
        "src/lonnymq/client/x.py",
    ]
    for arguments in (check, ["format", "--quiet"]):
        command = [sys.executable, "-m", "ruff", *arguments, "-"]
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=True, cwd=CLIENT.parents[2]
        )
        text = done.stdout
    return text


def sync_files() -> dict[Path, str]:
    """The files of the synchronous half."""
    sources = sorted((CLIENT / "_async").glob("*.py"))
    return {CLIENT / "_sync" / source.name: sync_text(source) for source in sources}


def write_or_compare(files: dict[Path, str]) -> int:
    """Write the files; with --check in the command line, say instead which ones differ."""
    changed = [
        path for path, text in files.items() if not path.exists() or path.read_text() != text
    ]
    if "--check" not in sys.argv:
        for path in changed:
            path.write_text(files[path])
        return 0
    for path in changed:
        print(f"{path} is not what its source says: run `make client`")
    return len(changed)


def main() -> int:
    """Write the files, or compare them."""
    files = sync_files()
    left = [path for path in (CLIENT / "_sync").glob("*.py") if path not in files]
    for path in left:
        print(f"{path} has no source in _async: remove it")
    return write_or_compare(files) + len(left)


if __name__ == "__main__":
    sys.exit(main())
