"""Runs a Markdown page: every block in it that shows a program, in order, as its reader would.

    python tests/documents.py page.md

- The Python blocks of a page are one program: they share a namespace and an event loop, and may `await`.
  A block that defines tests is run by pytest, in a process of its own.
- The SQL blocks are one psql session, with the server that the Python blocks call `server`, else with LONNYMQ_PAGE_DSN.
- Commands of sh and console blocks are run by sh in a folder of their own, where DATABASE_URL names that server and
  LONNYMQ_DSN the one of LONNYMQ_PAGE_DSN;
  of make only the target is looked up, of pip only the extras.
- What follows `# ->` (Python, at a statement's end) or stands on the lines of `-- ->` after a statement (SQL) is what
  it gives: an expression's value, what a print prints, the rows of a result. `...` stands for anything.
- `<!-- not run: reason -->` before a block lets it be.
"""

import ast
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lonnymq.embedded_postgres.cluster import embedded_binaries

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!-- not run: (.+) -->\n+\Z")
GIVES = re.compile(r"# -> (.*)$")
ROW = re.compile(r"^-- -> (.*)$")
FROM_STDIN = re.compile(r"^copy\b.*\bfrom stdin\b", re.IGNORECASE | re.MULTILINE)


class Wrong(Exception):
    """A page says what is not so."""


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and the line of the page at which the text begins."""

    language: str
    text: str
    line: int
    not_run: str | None


def blocks_of(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for found in FENCE.finditer(page):
        reason = NOT_RUN.search(page[: found.start()])
        line = page.count("\n", 0, found.start("text")) + 1
        yield Block(found["language"], found["text"], line, reason and reason[1])


def agrees(output: str, given: str) -> bool:
    """Whether what the page says is what was given; `...` stands for anything."""
    pattern = ".*".join(re.escape(part) for part in output.strip().split("..."))
    return re.fullmatch(pattern, given.strip(), re.DOTALL) is not None


def expect(where: str, output: list[str], given: list[str]) -> None:
    """Raise unless the lines agree, one by one."""
    if len(output) != len(given) or not all(map(agrees, output, given)):
        raise Wrong(f"{where}: the page says {output}, given was {given}")


# Python


class Watched(ast.NodeTransformer):
    """Hands the value of every expression that says what it gives to `__gives__`, with its line."""

    def __init__(self, output: dict[int, str]) -> None:
        self.output = output

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        if node.end_lineno not in self.output:
            return node
        is_print = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "print"
        watcher = "__prints__" if is_print else "__gives__"
        arguments = (
            node.value.args if isinstance(node.value, ast.Call) and is_print else [node.value]
        )
        called = ast.Call(
            ast.Name(watcher, ast.Load()), [ast.Constant(node.end_lineno), *arguments], []
        )
        return ast.copy_location(ast.Expr(called), node)


class Program:
    """The Python blocks of a page."""

    def __init__(self, page: Path, runner: asyncio.Runner) -> None:
        self.page, self.runner = page, runner
        self.given: dict[int, list[str]] = {}
        self.names: dict[str, Any] = {
            "__name__": "page",
            "__gives__": lambda line, value: self.given.setdefault(line, []).append(repr(value)),
            "__prints__": lambda line, *values: self.given.setdefault(line, []).append(
                " ".join(map(str, values))
            ),
        }

    def run(self, block: Block) -> None:
        """Run one block, and compare what it gives with what it says."""
        if re.search(r"^(async )?def test_", block.text, re.MULTILINE):
            return run_tests(block)
        text = "\n" * (block.line - 1) + block.text  # so that a traceback names the page's line
        output = {
            number: found[1]
            for number, line in enumerate(text.splitlines(), 1)
            if (found := GIVES.search(line))
        }
        tree = ast.fix_missing_locations(Watched(output).visit(ast.parse(text)))
        code = compile(tree, self.page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        outcome = eval(code, self.names)
        if outcome is not None:
            self.runner.run(outcome)
        for line, words in output.items():
            expect(f"{self.page}:{line}", [words], sorted(set(self.given.get(line, []))))
        return None


def run_tests(block: Block) -> None:
    """Run a block's tests in a project that has nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_page.py").write_text(block.text)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if ran.returncode:
        raise Wrong(f"line {block.line}: {ran.stdout}{ran.stderr}")


# SQL


class Session:
    """The SQL blocks of a page: one psql, which is told a statement and a mark, and heard until the mark."""

    def __init__(self, page: Path, dsn: str) -> None:
        self.page, self.marks = page, 0
        command = [
            str(embedded_binaries() / "psql"),
            "-XqAt",
            "-F",
            " | ",
            "-v",
            "ON_ERROR_STOP=1",
            dsn,
        ]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True, cwd="/"
        )

    def run(self, block: Block) -> None:
        """Run one block's statements, and compare their rows with what it says."""
        for line, statement, output in statements(block):
            given = self.answer(statement)
            if self.process.poll() is not None or output:
                expect(f"{self.page}:{line}", output, given)

    def answer(self, statement: str) -> list[str]:
        """What psql prints for a statement."""
        assert self.process.stdin
        assert self.process.stdout
        self.marks += 1
        self.process.stdin.write(f"{statement}\n\\echo mark {self.marks}\n")
        self.process.stdin.flush()
        lines: list[str] = []
        for line in self.process.stdout:
            if line == f"mark {self.marks}\n":
                return lines
            if not line.startswith("Asynchronous notification"):  # comes when it comes
                lines.append(line.rstrip("\n"))
        raise Wrong(f"{self.page}: psql ended at: {statement}\n" + "\n".join(lines))

    def close(self) -> None:
        """Let psql end."""
        self.process.communicate()


def statements(block: Block) -> Iterator[tuple[int, str, list[str]]]:
    """The statements of a block: the line each ends at, its text, and the rows that are said of it."""
    lines = block.text.splitlines()
    text: list[str] = []
    for number, line in enumerate(lines):
        if ROW.match(line) or not (text or line.strip()):
            continue
        text.append(line)
        if ends("\n".join(text)):
            output = []
            for after in lines[number + 1 :]:
                if not (row := ROW.match(after)):
                    break
                output.append(row[1])
            yield block.line + number, "\n".join(text), output
            text = []
    if any(line and not line.startswith("--") for line in text):
        raise Wrong(f"line {block.line}: a statement does not end: {text}")


def ends(text: str) -> bool:
    """Whether these lines are a whole statement of psql's."""
    last = text.splitlines()[-1].split("--")[0].strip()
    if FROM_STDIN.search(text):
        return last == "\\."
    if text.count("$$") % 2:
        return False
    return last.endswith(";") or last.startswith("\\") or bool(re.search(r"\\g\w*( \w+)*$", last))


# Commands


class Shell:
    """The commands of a page: run in a folder of their own, with our programs within reach."""

    def __init__(self, page: Path, folder: Path, dsn: str) -> None:
        self.page, self.folder = page, folder
        path = [Path(sys.executable).parent, embedded_binaries(), os.environ["PATH"]]
        own = os.environ["LONNYMQ_PAGE_DSN"]
        named = {"DATABASE_URL": dsn, "LONNYMQ_DSN": own, "PATH": ":".join(map(str, path))}
        self.environment = {**os.environ, **named}

    def run(self, block: Block) -> None:
        """Run one block's commands."""
        for command in commands(block):
            where = f"{self.page}:{block.line}: {command}"
            words = command.split()
            if words[0] == "make":
                check_target(where, words[1:])
            elif words[0] == "pip":
                check_extras(where, command)
            elif words[0] not in ("git", "cd"):
                self.execute(where, command)

    def execute(self, where: str, command: str) -> None:
        """Run a command for real."""
        ran = subprocess.run(
            command,
            shell=True,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        if ran.returncode:
            raise Wrong(f"{where}: ended with {ran.returncode}: {ran.stdout}{ran.stderr}")


def commands(block: Block) -> list[str]:
    """The commands of a block: of sh every line, of console what follows the dollar."""
    lines = block.text.replace("\\\n", "").splitlines()
    if block.language == "console":
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def check_target(where: str, words: list[str]) -> None:
    """The Makefile has the target."""
    target = words[0] if words else "help"
    if not re.search(rf"^{re.escape(target)}:", (ROOT / "Makefile").read_text(), re.MULTILINE):
        raise Wrong(f"{where}: no such target")


def check_extras(where: str, command: str) -> None:
    """The project has the extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, extras in re.findall(r"\b(lonnymq)(?:\[([\w,]+)\])?", command):
        unknown = set(extras.split(",")) - {""} - set(project["optional-dependencies"])
        if name != project["name"] or unknown:
            raise Wrong(f"{where}: no such extras: {unknown}")


# Pages


def run_page(page: Path) -> None:
    """Run a page's blocks, in order."""
    session: Session | None = None
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory() as folder:
        program = Program(page, runner)
        for block in blocks_of(page.read_text()):
            if block.not_run:
                continue
            dsn = getattr(program.names.get("server"), "dsn", os.environ["LONNYMQ_PAGE_DSN"])
            match block.language:
                case "python":
                    program.run(block)
                case "sql":
                    session = session or Session(page, dsn)
                    session.run(block)
                case "sh" | "console":
                    Shell(page, Path(folder), dsn).run(block)
        if session:
            session.close()


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
