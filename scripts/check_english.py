"""Measures the English that users read: docs, errors, command help and the dashboard's text.

`make check` runs this script. `python scripts/check_english.py docs/worker.md src/lonnymq/worker` measures the
given files and folders only and prints every sentence that counts against the measures with `--show`.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRONOUNS = frozenset({"it", "its", "one", "those", "what", "who", "whose"})
READER = frozenset({"you", "your", "yours", "yourself"})
MAX_PRONOUNS = 20.0
MIN_READER = 10.0
MAX_SEMICOLONS = 1.0
MIN_WORDS = 200  # a shorter text is measured with the rest of its package

# Pages that explain or list something: they need not speak to the reader.
NOT_GUIDES = (
    "docs/reference",
    "docs/explanation",
    "docs/benchmarks",
    "docs/decisions",
    "CHANGELOG",
    "src/",
)
# Pages whose text is history or generated from comments.
NOT_MEASURED = ("docs/decisions",)


@dataclass(frozen=True, slots=True)
class Measure:
    """The counts of one text."""

    path: str
    words: int
    pronouns: int
    reader: int
    semicolons: int

    def per_thousand(self, count: int) -> float:
        """A count as a rate per 1,000 words."""
        return 1000 * count / self.words if self.words else 0.0

    def problems(self) -> list[str]:
        """The measures that this text misses."""
        found = []
        if self.per_thousand(self.pronouns) > MAX_PRONOUNS:
            found.append(f"{self.per_thousand(self.pronouns):.1f} stand-in pronouns (at most 20)")
        if self.per_thousand(self.semicolons) > MAX_SEMICOLONS:
            found.append(f"{self.per_thousand(self.semicolons):.1f} semicolons (at most 1)")
        if not self.path.startswith(NOT_GUIDES) and self.per_thousand(self.reader) < MIN_READER:
            found.append(f"{self.per_thousand(self.reader):.1f} times you or your (at least 10)")
        return found


def measure(path: str, sentences: Iterable[str]) -> Measure:
    """Count the words of some sentences."""
    text = " ".join(sentences)
    words = re.findall(r"[A-Za-z][A-Za-z'-]*", text.replace("\u2019", "'"))
    lower = [re.sub(r"'.*", "", word.lower()) for word in words]
    return Measure(
        path=path,
        words=len(words),
        pronouns=sum(word in PRONOUNS for word in lower),
        reader=sum(word in READER for word in lower),
        semicolons=text.count(";"),
    )


def markdown_sentences(path: Path) -> Iterator[str]:
    """The prose of a Markdown page: no code blocks, no code words, no addresses of links."""
    text = re.sub(
        r"^\s*(```|~~~).*?^\s*\1\s*$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE
    )
    text = re.sub(r"^(    |\t)(?![-*\d]).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"<[^>]*>|`[^`]*`", " ", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"&\w+;", " ", text)
    yield from (line for line in text.splitlines() if line.strip())


def python_sentences(path: Path) -> Iterator[str]:
    """The strings of a module that a user may read: errors, help texts, log lines."""
    tree = ast.parse(path.read_text())
    hidden = {id(each) for each in internal_docstrings(tree, is_cli="cli" in path.parts)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            hidden.update(id(part) for part in node.values)
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = "" if id(node) in hidden else node.value
        else:
            continue
        if is_sentence(text):
            yield re.sub(r"`[^`]*`", " ", text)


def internal_docstrings(tree: ast.Module, *, is_cli: bool) -> Iterator[ast.Constant]:
    """The docstrings that no user reads: all except those of exceptions and of commands."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.FunctionDef) and is_cli and node.decorator_list:
            continue
        if isinstance(node, ast.ClassDef) and any(
            "Error" in ast.unparse(base) for base in node.bases
        ):
            continue
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            yield first.value


def is_sentence(text: str) -> bool:
    """Whether a string is English: several words, and no SQL, code, markup or style sheet."""
    if (
        len(re.findall(r"\b[a-zA-Z]{2,}\b", text)) < 4
        or "::" in text
        or "</" in text
        or "charset=" in text
    ):
        return False
    if re.search(r"\{[^{}]*[\w-]+:[^{}]*;|-src '", text):  # CSS, a content security policy
        return False
    return not re.match(
        r"\s*(select|insert|update|delete|with|create|alter|drop|set|show|call|begin|from|copy|grant|lock|"
        r"revoke|listen|where|order by|and|lonnymq\.)\b(?! (a|the|your|you|an|no|to) )",
        text,
    )


def script_sentences(path: Path) -> Iterator[str]:
    """The strings of the dashboard's JavaScript that hold several words."""
    text = re.sub(r"^\s*(//|\*|/\*).*$", "", path.read_text(), flags=re.MULTILINE)
    for match in re.finditer(r"\"([^\"\n]+)\"|>([^<>{}$`\n]+)<", text):
        words = match.group(1) or match.group(2)
        if len(re.findall(r"\b[a-zA-Z]{2,}\b", words)) >= 4 and "px" not in words:
            yield words


def sql_sentences(path: Path) -> Iterator[str]:
    """The messages that a SQL function raises, and its comment, which becomes the reference page."""
    text = path.read_text()
    for match in re.finditer(r"(?:raise exception|hint =|detail =| is)\s+'((?:[^']|'')+)'", text):
        if is_sentence(match.group(1)):
            yield re.sub(r"`[^`]*`", " ", match.group(1))


READERS = {
    ".md": markdown_sentences,
    ".py": python_sentences,
    ".js": script_sentences,
    ".sql": sql_sentences,
}


def texts(chosen: list[Path]) -> Iterator[tuple[str, list[str]]]:
    """Each Markdown page by itself, and the strings of each package together."""
    packages: dict[str, list[str]] = {}
    for path in sorted(file for each in chosen for file in files(each)):
        name = path.relative_to(ROOT).as_posix()
        if (
            name.startswith(NOT_MEASURED)
            or {"vendor", "bundle"} & set(path.parts)
            or "__pycache__" in path.parts
        ):
            continue
        if path.suffix == ".md":
            yield name, list(READERS[".md"](path))
        elif path.suffix in READERS:
            parts = path.relative_to(ROOT / "src" / "lonnymq").parts
            package = f"src/lonnymq/{parts[0]}" if len(parts) > 1 else "src/lonnymq"
            packages.setdefault(package, []).extend(READERS[path.suffix](path))
    yield from packages.items()


def files(path: Path) -> Iterator[Path]:
    """A file, or the files below a folder."""
    return iter([path]) if path.is_file() else path.rglob("*.*")


def show(sentences: list[str]) -> None:
    """Print the sentences that count against the measures."""
    for sentence in sentences:
        counted = measure("", [sentence])
        if counted.pronouns or counted.semicolons:
            print(f"    {' '.join(sentence.split())}")


def main() -> None:
    """Measure everything that users read, and fail where a measure is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--show", action="store_true", help="print the sentences that count")
    chosen = parser.parse_args()
    paths = chosen.paths or [ROOT / "README.md", ROOT / "docs", ROOT / "src" / "lonnymq"]
    failed = False
    for name, sentences in texts([path.resolve() for path in paths]):
        found = measure(name, sentences)
        problems = found.problems() if found.words >= MIN_WORDS or chosen.paths else []
        if chosen.paths or problems:
            print(f"{name}: {found.words} words: {', '.join(problems) or 'fine'}")
        if problems:
            failed = True
            if chosen.show:
                show(sentences)
    sys.exit(failed)


if __name__ == "__main__":
    main()
