#!/usr/bin/env python3
"""Bundle the dashboard's JavaScript and CSS into static/bundle, with esbuild. Needs npx, of the Debian package npm.

The bundle is committed: nobody needs npm to install or to run the dashboard. A test compares the hash of the sources.
"""

from __future__ import annotations

import subprocess
from hashlib import sha256
from pathlib import Path

STATIC = Path(__file__).parents[1] / "src" / "lonnymq" / "dashboard" / "static"
BUNDLE = STATIC / "bundle"
ESBUILD = "esbuild@0.28.2"


def hash_sources() -> str:
    """A hash of all files that the bundle is made of."""
    paths = [path for path in STATIC.rglob("*.*s") if BUNDLE not in path.parents]
    return sha256(b"\0".join(path.read_bytes() for path in sorted(paths))).hexdigest()[:16]


def main() -> None:
    """Write bundle/app.js and bundle/style.css."""
    banner = f"/* made by scripts/bundle_dashboard.py from sources {hash_sources()} */"
    options = [f"--banner:{kind}={banner}" for kind in ("js", "css")]
    options += ["--bundle", "--minify", "--format=esm", "--charset=utf8", f"--outdir={BUNDLE}"]
    command = ["npx", "--yes", ESBUILD, "app.js", "style.css", *options]
    subprocess.run(command, cwd=STATIC, check=True)


if __name__ == "__main__":
    main()
