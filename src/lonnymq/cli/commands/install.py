"""`lonnymq install`, `sql` and `role`: install or upgrade the queue, print the script that does, and grant roles."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any

from lonnymq.cli.errors import CommandError
from lonnymq.cli.options import argument, option
from lonnymq.cli.output import make_table
from lonnymq.cli.session import Session, command, create_group
from lonnymq.client.call import schema_name
from lonnymq.errors import NotInstalled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lonnymq.results import Installed, Restricted

MEMBERS = """
select r.rolname, m.rolname from pg_roles r
join pg_auth_members a on a.roleid = r.oid join pg_roles m on m.oid = a.member
where r.rolname = any (%s) group by 1, 2 order by 1, 2
"""
Roles = Annotated[
    bool | None,
    option(
        "Grant rights to the queue's roles and to nobody else, or remove these grants. Default: no change.",
        "--roles/--no-roles",
    ),
]

app = create_group("Install or upgrade the queue.")
sql_app = create_group("Print the script that installs the queue.")


@command(app)
def install(session: Session, roles: Roles = None) -> None:
    """Install the queue in its schema, upgrade the queue, or bring back what somebody dropped or changed.

    You can run this command at any time and several times at once, because the command is a single transaction.
    A queue of a newer version that still serves this version stays as it is.
    """
    before = read_installation(session)
    with session.out.show_status(f"installing into schema {session.schema}"):
        session.queue.install(roles=roles)
    after = session.queue.installed()
    answer = compare_installations(before, after)
    document = {
        "answer": answer,
        "schema": session.schema,
        "version": after.library_version,
        "before": before and before.library_version,
    }
    session.out.print_result(
        document, lambda: f"{answer}: queue {after.library_version} in schema {session.schema}"
    )


def read_installation(session: Session) -> Installed | None:
    """The installed version; None without a queue."""
    try:
        return session.queue.installed()
    except NotInstalled:
        return None


def compare_installations(before: Installed | None, after: Installed) -> str:
    """What the installation has changed, in a word."""
    if before is None:
        return "installed"
    if is_newer(after):
        return "newer"
    if replace(before, roles=after.roles, installed_at=after.installed_at) != after:
        return "upgraded"
    if before.roles != after.roles:
        return "granted" if after.roles else "revoked"
    return "unchanged" if before.installed_at == after.installed_at else "restored"


def is_newer(installed: Installed) -> bool:
    """Whether a later version of the library installed the queue."""
    from lonnymq.client.installation import newest_migration, rank_numbers

    ours = rank_numbers(version("lonnymq"))
    return list(installed.library_rank) > ours or installed.migration > newest_migration()


@command(sql_app)
def sql(
    session: Session,
    roles: Roles = None,
    transaction: Annotated[
        bool,
        option(
            "Print begin and commit around the script, or leave them to your migration tool.",
            "--transaction/--no-transaction",
        ),
    ] = True,
) -> None:
    """Print the SQL script that does the same as install, for psql -v ON_ERROR_STOP=1.

    You need no server to print the script. You can run the script again without any effect.
    """
    from lonnymq.client import install_script

    text = install_script(session.schema, roles=roles, transaction=transaction)
    if session.out.as_json:
        session.out.print_json({"schema": session.schema, "script": text})
    else:
        sys.stdout.write(text)


class Role(StrEnum):
    """The roles of a queue; docs/security.md lists their rights."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    VIEWER = "viewer"
    ADMIN = "admin"
    OWNER = "owner"


RoleName = Annotated[Role, argument("The role.")]
Login = Annotated[str, argument("A login or a group of the server.", "LOGIN")]

role_app = create_group("Grant roles, and restrict producers to channels.")


@command(role_app, "list")
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


@command(role_app, "grant")
def grant_role(session: Session, role: RoleName, login: Login) -> None:
    """Grant a role to a login."""
    execute_grant(session, "grant {} to {}", role, login)
    print_answer(session, login, "granted", name_role(session, role))


@command(role_app, "revoke")
def revoke_role(session: Session, role: RoleName, login: Login) -> None:
    """Revoke a role from a login."""
    execute_grant(session, "revoke {} from {}", role, login)
    print_answer(session, login, "revoked", name_role(session, role))


@command(role_app, "restrict")
def restrict_producer(
    session: Session,
    login: Login,
    channel: Annotated[
        list[str] | None, option("Channel that the login can use. You can repeat this option.")
    ] = None,
    prefix: Annotated[
        list[str] | None,
        option("Prefix of channels that the login can use. You can repeat this option."),
    ] = None,
) -> None:
    """Restrict a producer to the given channels. A new restriction replaces the old restriction."""
    check_roles(session)
    answer = session.queue.producer_restrict(login, channels=channel or [], prefixes=prefix or [])
    print_answer(session, login, answer, login)


@command(role_app, "unrestrict")
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
