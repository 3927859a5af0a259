"""`lonnymq role`: grant the queue's roles, and restrict producers to channels."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lonnymq.cli.errors import CommandError
from lonnymq.cli.output.console import make_table
from lonnymq.cli.session import Session, command, create_group
from lonnymq.client.call import schema_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lonnymq.results import Restricted

MEMBERS = """
select r.rolname, m.rolname from pg_roles r
join pg_auth_members a on a.roleid = r.oid join pg_roles m on m.oid = a.member
where r.rolname = any (%s) group by 1, 2 order by 1, 2
"""


class Role(StrEnum):
    """The roles of a queue; docs/security.md lists their rights."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    VIEWER = "viewer"
    ADMIN = "admin"
    OWNER = "owner"


RoleName = Annotated[Role, typer.Argument(help="The role.")]
Login = Annotated[str, typer.Argument(metavar="LOGIN", help="A login or a group of the server.")]

app = create_group("Grant roles, and restrict producers to channels.")


@command(app, "list")
def list_roles(session: Session) -> None:
    """List the roles of the queue with their members, and the restricted producers."""
    check_roles(session)
    members: dict[str, list[str]] = {name_role(session, role): [] for role in Role}
    with session.connect() as connection:
        for role, member in connection.execute(MEMBERS, (list(members),)):
            members[str(role)].append(str(member))
    restricted = session.queue.producer_list()
    session.out.print_result(
        {"roles": members, "restricted": restricted}, lambda: render_roles(members, restricted)
    )


def render_roles(members: dict[str, list[str]], restricted: Sequence[Restricted]) -> Any:
    """A table of roles and restrictions."""
    rows = [[role, ", ".join(names) or None] for role, names in members.items()]
    rows += [
        [each.role, "only " + ", ".join([*each.channels, *(f"{text}…" for text in each.prefixes)])]
        for each in restricted
    ]
    return make_table("role", "members", rows=rows)


@command(app, "grant")
def grant_role(session: Session, role: RoleName, login: Login) -> None:
    """Grant a role to a login."""
    execute_grant(session, "grant {} to {}", role, login)
    print_answer(session, login, "granted", name_role(session, role))


@command(app, "revoke")
def revoke_role(session: Session, role: RoleName, login: Login) -> None:
    """Revoke a role from a login."""
    execute_grant(session, "revoke {} from {}", role, login)
    print_answer(session, login, "revoked", name_role(session, role))


@command(app, "restrict")
def restrict_producer(
    session: Session,
    login: Login,
    channel: Annotated[
        list[str] | None,
        typer.Option(help="Channel that the login can use. You can repeat this option."),
    ] = None,
    prefix: Annotated[
        list[str] | None,
        typer.Option(help="Prefix of channels that the login can use. You can repeat this option."),
    ] = None,
) -> None:
    """Restrict a producer to the given channels. A new restriction replaces the old restriction."""
    check_roles(session)
    answer = session.queue.producer_restrict(login, channels=channel or [], prefixes=prefix or [])
    print_answer(session, login, answer, login)


@command(app, "unrestrict")
def unrestrict_producer(session: Session, login: Login) -> None:
    """Let a producer use every channel again."""
    check_roles(session)
    answer = session.queue.producer_unrestrict(login)
    if answer == "not_found":
        raise CommandError(f"'{login}' is not restricted. List restrictions: lonnymq role list")
    print_answer(session, login, answer, login)


def check_roles(session: Session) -> None:
    """Raise if the queue has no roles."""
    if not session.queue.installed().roles:
        option = "" if session.schema == "lonnymq" else f" --schema {session.schema}"
        raise CommandError(f"This queue has no roles. Run: lonnymq install --roles{option}")


def name_role(session: Session, role: Role) -> str:
    """The name of a role on the server."""
    return f"{schema_name(session.schema)}_{role}"


def execute_grant(session: Session, statement: str, role: Role, login: str) -> None:
    """Grant or revoke; without the right to do so, print the statement for an administrator."""
    from psycopg import errors
    from psycopg.sql import SQL, Identifier

    check_roles(session)
    composed = SQL(statement).format(Identifier(name_role(session, role)), Identifier(login))
    with session.connect() as connection:
        try:
            connection.execute(composed)
        except errors.InsufficientPrivilege:
            raise CommandError(
                "Your user cannot change this role. Ask an administrator to run: "
                f"{composed.as_string(connection)}"
            ) from None


def print_answer(session: Session, login: str, answer: str, name: str) -> None:
    """Print the change."""
    session.out.print_result(
        {"login": login, "answer": answer, "role": name}, lambda: f"{answer}: {name}"
    )
