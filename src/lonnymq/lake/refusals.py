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
    """Sync this one under a name of its own, with `--source`; if it is the same on another server, `--adopt` it."""


class DatabaseWentBack(LonnyMQError):
    """The database was put back, or another took its place: sync it under another name, with `--source`."""
