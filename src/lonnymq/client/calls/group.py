"""The functions of groups: messages whose end is waited for together."""

from __future__ import annotations

from lonnymq import results
from lonnymq.client.arguments import Content, Identifier, Ids, Json, Name
from lonnymq.client.describe import EVERYBODY, PRODUCER, sql_function


@sql_function(PRODUCER, using=True)
def group_create(
    channel: Name, content: Content, *, kind: Name | None = None, headers: Json | None = None
) -> int:
    """Create a group and return its id. The message given here is created when all members have ended."""


@sql_function(PRODUCER, using=True)
def group_add(group_id: Identifier, message_ids: Ids) -> int:
    """Add live messages to a group that has not ended, and answer how many."""


@sql_function(PRODUCER, using=True)
def group_seal(group_id: Identifier) -> results.SealAnswer:
    """Seal a group: the group ends when no member is left."""


@sql_function(EVERYBODY, using=True)
def group_status(group_id: Identifier) -> results.GroupStatus:
    """Tell how far a group is: open, sealed or ended, with the number of members by outcome."""
