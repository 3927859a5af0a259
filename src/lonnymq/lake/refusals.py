"""What can be wrong with a lake; each says what to do."""

from __future__ import annotations

from lonnymq.errors import LonnyMQError


class LakeMissing(LonnyMQError):
    """There is no lake at this place: check the path, or make one with `lonnymq lake sync`."""


class LakeForeign(LonnyMQError):
    """Something else is at this place: give the lake a folder of its own."""


class LakeNewer(LonnyMQError):
    """A later version of the library wrote this lake: upgrade the library."""


class LakeBroken(LonnyMQError):
    """A table of the lake cannot be read: bring its files back, or sync into another place."""


class LakeBusy(LonnyMQError):
    """Somebody else is syncing this source into this lake: let that one go on, or stop it first."""


class OtherDatabase(LonnyMQError):
    """The source is another database's: sync this one under a name of its own, with `source`."""


class DatabaseWentBack(LonnyMQError):
    """The lake is ahead of the database, which was restored or failed over: sync under another source's name."""
