"""The options that every command understands, before its name or after it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated

import typer

DSN_VARIABLE = "LONNYMQ_DSN"
WHERE = "Which queue"

Dsn = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        metavar="DSN",
        help=f"The PostgreSQL to use; else the variable {DSN_VARIABLE}, else a private server.",
        rich_help_panel=WHERE,
    ),
]
Schema = Annotated[
    str | None,
    typer.Option(
        "--schema",
        metavar="NAME",
        help="The schema that the queue is in; 'lonnymq' if not given.",
        rich_help_panel=WHERE,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Answer in JSON, for programs.", rich_help_panel=WHERE)
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
ChannelName = Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel's name.")]


@dataclass(frozen=True, slots=True)
class Common:
    """Which queue is meant, and how to answer."""

    dsn: str | None = None
    schema: str | None = None
    as_json: bool = False

    def under(self, before: Common | None) -> Common:
        """These options, completed by those that stood before the command's name."""
        before = before or Common()
        return Common(
            dsn=self.dsn or before.dsn,
            schema=self.schema or before.schema,
            as_json=self.as_json or before.as_json,
        )

    @property
    def named_dsn(self) -> str | None:
        """The server that somebody named; None means the private one."""
        return self.dsn or os.environ.get(DSN_VARIABLE) or None

    @property
    def named_schema(self) -> str:
        """The queue's schema."""
        return self.schema or "lonnymq"
