"""`lonnymq role`: who may do what with the queue, and in which channels."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lonnymq.cli.errors import CommandError
from lonnymq.cli.output.console import rows, table
from lonnymq.cli.session import Session, command, group
from lonnymq.client.call import schema_name

if TYPE_CHECKING:
    from psycopg.sql import Composed

MEMBERS = """
select r.rolname, m.rolname from pg_roles r
join pg_auth_members a on a.roleid = r.oid join pg_roles m on m.oid = a.member
where r.rolname = any (%s) order by 1, 2
"""


class Role(StrEnum):
    """What somebody is trusted with; docs/security.md tells what each may do."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    VIEWER = "viewer"
    ADMIN = "admin"
    OWNER = "owner"


Which = Annotated[Role, typer.Argument(help="What it may do.")]
Login = Annotated[str, typer.Argument(metavar="LOGIN", help="A login or a group of the server's.")]

app = group("Roles: who may do what, and in which channels.")


@command(app, "list")
def list_roles(at: Session) -> None:
    """List the queue's roles with their members, and who is restricted to which channels."""
    members = members_of(at)
    restricted = at.queue.producer_list()
    document = {"roles": members, "restricted": restricted}
    at.out.answer(document, lambda: role_table(members, restricted))


def members_of(at: Session) -> dict[str, list[str]]:
    """The members of each role of the queue."""
    from lonnymq.cli.versions import open_connection

    need_roles(at)
    found: dict[str, list[str]] = {name_of(at, role): [] for role in Role}
    with open_connection(at) as connection:
        for role, member in connection.execute(MEMBERS, (list(found),)):
            if str(member) not in found[str(role)]:
                found[str(role)].append(str(member))
    return found


def role_table(members: dict[str, list[str]], restricted: Any) -> Any:
    """Roles as people see them."""
    made = table("role", "members")
    lines = [[role, ", ".join(names) or None] for role, names in members.items()]
    lines += [
        [each.role, "only " + ", ".join([*each.channels, *(f"{text}…" for text in each.prefixes)])]
        for each in restricted
    ]
    return rows(made, lines)


@command(app)
def grant(at: Session, role: Which, login: Login) -> None:
    """Let a login do what a role is for."""
    change(at, "grant {} to {}", role, login)
    tell(at, login, "granted", name_of(at, role))


@command(app)
def revoke(at: Session, role: Which, login: Login) -> None:
    """Take a role from a login."""
    change(at, "revoke {} from {}", role, login)
    tell(at, login, "revoked", name_of(at, role))


@command(app)
def restrict(
    at: Session,
    login: Login,
    channel: Annotated[list[str] | None, typer.Option(help="A channel that it may use.")] = None,
    prefix: Annotated[
        list[str] | None, typer.Option(help="How the names of channels begin that it may use.")
    ] = None,
) -> None:
    """Confine a producer to some channels: to these, in place of what was said before."""
    need_roles(at)
    answer = at.queue.producer_restrict(login, channels=channel or [], prefixes=prefix or [])
    tell(at, login, answer, login)


@command(app)
def free(at: Session, login: Login) -> None:
    """Let a producer use every channel again."""
    need_roles(at)
    answer = at.queue.producer_unrestrict(login)
    if answer == "not_found":
        raise CommandError(f"'{login}' is not restricted. See who is: lonnymq role list")
    tell(at, login, answer, login)


def need_roles(at: Session) -> None:
    """Reject to go on where the queue has no roles."""
    if not at.queue.installed().roles:
        option = "" if at.schema == "lonnymq" else f" --schema {at.schema}"
        raise CommandError(f"This queue has no roles. Run: lonnymq install --roles{option}")


def name_of(at: Session, role: Role) -> str:
    """The role's name on the server."""
    return f"{schema_name(at.schema)}_{role}"


def change(at: Session, statement: str, role: Role, login: str) -> None:
    """Grant or revoke; who may not is told what to have run."""
    from psycopg import errors
    from psycopg.sql import SQL, Identifier

    from lonnymq.cli.versions import open_connection

    need_roles(at)
    names = Identifier(name_of(at, role)), Identifier(login)
    composed: Composed = SQL(statement).format(*names)
    with open_connection(at) as connection:
        try:
            connection.execute(composed)
        except errors.InsufficientPrivilege:
            said = composed.as_string(connection)
            raise CommandError(f"This user may not. Have it run by one who may: {said};") from None


def tell(at: Session, login: str, answer: str, what: str) -> None:
    """Answer with what was done."""
    at.out.answer({"login": login, "answer": answer, "role": what}, lambda: f"{answer}: {what}")
