"""Whether the queue in the database is the one that this library means."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import version

from lonnymq.client.installation import rank, sql_files
from lonnymq.doctor.finding import Finding
from lonnymq.doctor.patient import Patient

INSTALLED = """
select i.library_version, i.library_rank > %s::integer[] or exists (
    select from {schema}.migration m where m.version > %s
  ), i.functions_checksum = %s
from {schema}.installed i
"""


def installed(patient: Patient) -> Iterator[Finding]:
    """A queue of another version than the library's."""
    option = "" if patient.schema == "lonnymq" else f" --schema {patient.schema}"
    if not patient.is_installed:
        yield Finding(
            "installed",
            "broken",
            f"Schema {patient.schema} has no queue.",
            f"lonnymq install{option}",
        )
        return
    ours = version("lonnymq")
    code = "\n".join(sql_files("functions").values())
    newest = max(int(name.split("_")[0]) for name in sql_files("migrations"))
    found = patient.rows(INSTALLED, rank(ours), newest, sha256(code.encode()).hexdigest())
    for theirs, is_newer, is_same in found:
        if is_newer:
            yield Finding(
                "installed",
                "warning",
                f"The queue was installed by version {theirs}, newer than this library, {ours}.",
                "pip install --upgrade lonnymq",
            )
        elif not is_same:
            yield Finding(
                "installed",
                "warning",
                f"The queue was installed by version {theirs}; its functions are not those of this library, {ours}.",
                f"lonnymq install{option}",
            )
