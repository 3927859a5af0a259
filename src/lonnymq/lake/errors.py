"""What can be wrong with a lake; each says what to do."""

from __future__ import annotations

from lonnymq.errors import LonnyMQError


class LakeMissing(LonnyMQError):
    """Check the path, or make a lake with `lonnymq lake sync`."""


class LakeForeign(LonnyMQError):
    """Give the lake a folder of its own."""


class LakeNewer(LonnyMQError):
    """A later version of the library wrote it: upgrade the library."""


class LakeBroken(LonnyMQError):
    """Bring the lake's files back, or sync into another place."""


class LakeBusy(LonnyMQError):
    """Somebody else syncs this source into this lake: let that one go on, or stop it first."""


class OtherDatabase(LonnyMQError):
    """If it replaces that one (restored, or upgraded), add `--adopt` once. If both go on, name it: `--source NAME`."""


class ServerReplaced(LonnyMQError):
    """Stop the sync of this server: another took its place. If this one is the right one, add `--adopt` once."""


class DatabaseWentBack(LonnyMQError):
    """Sync it under another name, with `--source NAME`: nobody knows which rows it shares with the lake."""


class IdentifierHidden(LonnyMQError):
    """Have a superuser run: grant execute on function pg_control_system() to the user or its role."""
