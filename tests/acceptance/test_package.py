"""The files that PyPI gets: the wheel and the sdist are built, checked, installed into empty environments and used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import lonnymq
from documents import blocks_of

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# What needs an extra, and how the error names the extra.
NEEDS = {
    "worker": "import lonnymq.worker",
    "dashboard": "import lonnymq.dashboard",
    "spark": "import lonnymq.spark",
    "cli": "import sys; sys.argv = ['lonnymq']; from lonnymq.cli import main; main()",
    "embedded": "import lonnymq; lonnymq.embedded()",
}
# What can be imported when an extra is there.
GIVES = {
    "binary": "import psycopg; assert psycopg.pq.__impl__ == 'binary'; import lonnymq; lonnymq.Queue",
    "embedded": "import lonnymq; lonnymq.embedded().close()",
    "worker": "import lonnymq; lonnymq.Worker()",
    "cli": "import lonnymq.cli.app",
    "dashboard": "import lonnymq.dashboard",
    "oidc": "import lonnymq.dashboard, authlib.integrations.starlette_client",
    "tracing": "import opentelemetry.trace, lonnymq.tracing",
    "spark": "import lonnymq.spark; lonnymq.spark.LonnyMQDataSource",
}
OWN_TESTS = ["tests/unit/test_calls.py", "tests/unit/test_demo_promises.py"]
pytestmark = [pytest.mark.long, pytest.mark.timeout(900), pytest.mark.xdist_group("package")]


def run(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program outside this repository, so that nothing of the repository is imported."""
    known = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "LONNYMQ_DSN")
    }
    return subprocess.run(
        command, cwd="/", env={**known, **variables}, capture_output=True, text=True, check=False
    )


def check(*command: str | Path, **variables: str) -> str:
    """Run a program that must end well. Return its output."""
    ran = run(*command, **variables)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist. The wheel is built from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    check(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture
def install(built: Path, tmp_path: Path) -> Callable[..., Path]:
    """Installs the wheel with some extras into an empty environment. Returns the environment's Python."""

    def into_empty(extras: str, *more: str) -> Path:
        venv.create(tmp_path / "venv", with_pip=False)
        python = tmp_path / "venv" / "bin" / "python"
        [wheel] = built.glob("*.whl")
        pip: list[str | Path] = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            python,
            "install",
            "--quiet",
        ]
        check(*pip, f"{wheel}[{extras}]" if extras else wheel, *more)
        return python

    return into_empty


def test_the_metadata_is_what_pypi_accepts(built: Path) -> None:
    check(sys.executable, "-m", "twine", "check", "--strict", *built.iterdir())


def test_the_files_carry_the_version_of_the_module(built: Path) -> None:
    names = sorted(each.name for each in built.iterdir())
    version = lonnymq.__version__
    assert names == [f"lonnymq-{version}-py3-none-any.whl", f"lonnymq-{version}.tar.gz"]


def test_the_wheel_holds_the_library_and_nothing_else(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "lonnymq",
        "pyspark_lonnymq",
        f"lonnymq-{lonnymq.__version__}.dist-info",
    }
    assert "lonnymq/py.typed" in names
    assert any(name.endswith("/message_create.sql") for name in names)
    assert not [name for name in names if re.search(r"/(tests|demo|benchmarks|examples)/", name)]


def test_development_tools_are_no_extra(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    [name] = [each for each in zipfile.ZipFile(wheel).namelist() if each.endswith("/METADATA")]
    metadata = zipfile.ZipFile(wheel).read(name).decode()
    extras = re.findall(r"^Provides-Extra: (.*)$", metadata, re.MULTILINE)
    assert sorted(extras) == sorted([*GIVES, "all"])
    assert "pytest" not in re.findall(r"^Requires-Dist: ([\w-]+)", metadata, re.MULTILINE)


def test_the_sdist_can_run_its_own_tests(built: Path, tmp_path: Path) -> None:
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [folder] = tmp_path.iterdir()
    for needed in ("Makefile", "tests/conftest.py", "docs", "scripts/system-packages", "examples"):
        assert (folder / needed).exists(), needed
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *OWN_TESTS],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout


def test_without_extras_the_errors_name_the_missing_extra(install: Callable[..., Path]) -> None:
    python = install("", "psycopg-binary")
    check(python, "-c", "import lonnymq; lonnymq.Queue; lonnymq.AsyncQueue; lonnymq.errors")
    version = check(python, "-c", "import lonnymq; print(lonnymq.__version__)")
    assert version == f"{lonnymq.__version__}\n"
    for extra, program in NEEDS.items():
        ran = run(python, "-c", program)
        assert ran.returncode == 1, extra
        assert re.search(rf"pip install ['\"]lonnymq\[{extra}\]['\"]", ran.stderr), ran.stderr


@pytest.mark.parametrize("extra", GIVES)
def test_an_extra_brings_what_its_modules_need(
    install: Callable[..., Path], extra: str, tmp_path: Path
) -> None:
    python = install(extra, "psycopg-binary")
    check(python, "-W", "error", "-c", GIVES[extra], XDG_DATA_HOME=str(tmp_path / "data"))


def test_every_extra_is_tried() -> None:
    assert {*GIVES, "all"} == set(EXTRAS)


def test_the_program_of_the_readme_runs_with_the_extra_that_it_names(
    install: Callable[..., Path], tmp_path: Path
) -> None:
    blocks = blocks_of((ROOT / "README.md").read_text())
    program = next(each for each in blocks if each.language == "python")
    python = install("binary,embedded")
    printed = check(python, "-c", program.text, XDG_DATA_HOME=str(tmp_path / "data"))
    assert "hello" in printed
