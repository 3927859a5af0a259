"""Makes later versions of the library: a copy with another version, one more migration, and functions that changed."""

import re
import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "lonnymq"
NEEDED = ("client", "embedded_postgres", "results", "sql", "worker")
MIGRATION = """\
-- Locks: message, queue and worker, for a moment.
alter table lonnymq.message add column later_{number} text;
alter table lonnymq.queue add column later_{number} integer not null default {number};
create table lonnymq.later_{number} (id bigint primary key);
"""
METADATA = "Metadata-Version: 2.1\nName: lonnymq\nVersion: 99.{number}.0\n"
COMPLETE = "p_id bigint, p_token uuid, p_result bytea default null"
INSIDE = ("channel_advance_floor", "settle_answers", "commit_durably", "queue_notify", "guard_text")


def later_library(folder: Path, number: int) -> Path:
    """A folder for PYTHONPATH with version 99.{number}.0.

    Its functions are other ones: some of the inside have other names, and one that everybody calls takes one more
    argument, with a default, so that a library of an earlier version may go on calling it.
    """
    place = folder / f"library {number}"
    package = place / "lonnymq"
    package.mkdir(parents=True)
    for file in SOURCE.glob("*.py"):
        shutil.copy(file, package)
    for name in NEEDED:
        shutil.copytree(SOURCE / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    about = place / f"lonnymq-99.{number}.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(METADATA.format(number=number))
    migrations = package / "sql" / "migrations"
    for each in range(1, number + 1):
        (migrations / f"{9000 + each}_later.sql").write_text(MIGRATION.format(number=each))
    for file in (package / "sql" / "functions").rglob("*.sql"):
        change(file, number)
    return place


def change(file: Path, number: int) -> None:
    """Make a function of a later version of it."""
    text = file.read_text()
    for name in INSIDE:
        text = re.sub(rf"\b{name}\b", f"{name}_{number}", text)
    text = text.replace(COMPLETE, f"{COMPLETE}, p_later text default null")
    text = text.replace(
        "message_complete(bigint, uuid, bytea)", "message_complete(bigint, uuid, bytea, text)"
    )
    name = file.stem
    if name in INSIDE:
        file.unlink()
        file = file.with_stem(f"{name}_{number}")
    file.write_text(text)
