"""Errors of a lake. Each docstring tells you what to do."""

from __future__ import annotations

from lonnymq.errors import LonnyMQError


class LakeMissing(LonnyMQError):
    """Check the path, or create a lake with `lonnymq lake sync`."""


class NotALake(LonnyMQError):
    """Choose an empty folder for the lake."""


class LakeTooNew(LonnyMQError):
    """A later version of LonnyMQ wrote this lake. Upgrade LonnyMQ."""


class LakeBroken(LonnyMQError):
    """Restore the files of the lake, or sync into another folder."""


class LakeBusy(LonnyMQError):
    """Another sync copies this source into this lake. Let the other sync finish, or stop the other sync first."""


class WrongDatabase(LonnyMQError):
    """If this database replaces the other, add `--adopt` once. To keep both, add `--source NAME`."""


class ServerReplaced(LonnyMQError):
    """Stop this sync: another server has replaced this server. If this is the right server, add `--adopt` once."""


class DatabaseRestored(LonnyMQError):
    """Sync this database under another name, with `--source NAME`: the rows shared with the lake are unknown."""


class IdentifierHidden(LonnyMQError):
    """Let a superuser run: grant execute on function pg_control_system() to the user or role."""
