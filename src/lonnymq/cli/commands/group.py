"""`lonnymq group`: create and seal groups of messages, and show how far a group is."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated

from lonnymq.cli.errors import CommandError
from lonnymq.cli.options import ChannelName, argument, option
from lonnymq.cli.output import format_timestamp, make_list
from lonnymq.cli.session import Session, command, create_group

Id = Annotated[int, argument("Id of the group.", "ID")]
Content = Annotated[str, argument("Content of the callback, as text in UTF-8.", "CONTENT")]
Kind = Annotated[str | None, option("Kind of the callback, which selects the handler.")]

app = create_group("Create and seal groups of messages, and show how far a group is.")


@command(app, "create")
def create_message_group(
    session: Session, channel: ChannelName, content: Content, kind: Kind = None
) -> None:
    """Create a group with the message that is created when all members have ended."""
    group = session.queue.group_create(channel, os.fsencode(content), kind=kind)
    session.out.print_result({"id": group}, lambda: f"created: {group}")


@command(app, "seal")
def seal_group(session: Session, group_id: Id) -> None:
    """Seal a group. The group ends when no member is left."""
    answer = session.queue.group_seal(group_id)
    if answer == "not_found":
        raise CommandError(f"There is no group {group_id}.")
    session.out.print_result({"id": group_id, "answer": answer}, lambda: answer.replace("_", " "))


@command(app, "status")
def show_group_status(session: Session, group_id: Id) -> None:
    """Show how far a group is."""
    status = session.queue.group_status(group_id)
    if status.state == "not_found":
        raise CommandError(f"There is no group {group_id}.")
    fields = {
        key.replace("_", " "): format_timestamp(value) if key.endswith("_at") else value
        for key, value in asdict(status).items()
        if value is not None
    }
    session.out.print_result(status, lambda: make_list(fields))
