"""Makes .venv-bench: what the benchmark needs, then each peer by itself. Runs on a bare Python, before all else.

    python benchmarks/virtual_environment.py .venv-bench

A peer that does not install is written down with the reason, in .venv-bench/not-installed.json, and the rest go on.
"""

import json
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent


def main(folder: Path) -> int:
    if not (folder / "bin" / "python").exists():
        venv.create(folder, with_pip=True)
    if failure := install(
        folder,
        "--editable",
        f"{HERE.parent}[binary,embedded,worker]",
        "--requirement",
        str(HERE / "requirements.txt"),
    ):
        print(failure, file=sys.stderr)
        return 1
    failures = {}
    for line in (HERE / "peers.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            print(f"peer: {line}", flush=True)
            if failure := install(folder, *line.split()):
                failures[line] = failure
                print(f"did not install: {failure}", flush=True)
    (folder / "not-installed.json").write_text(json.dumps(failures))
    return 0


def install(folder: Path, *what: str) -> str:
    """Install with pip; answer with its last error line, or nothing."""
    command = [
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *what,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    errors = [line for line in done.stderr.splitlines() if line.strip() and "WARNING" not in line]
    return errors[-1] if errors else f"pip ended with {done.returncode}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
