"""The privileges of a server are those of install/grants.sql, all of them and no others."""

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from database.security.logins import ROLES, Login
from lonnymq import install
from lonnymq.client._sync.connections import run, source_of
from lonnymq.client.call import Call
from lonnymq.client.calls import DESCRIPTIONS
from lonnymq.client.installation import sql_files
from lonnymq.errors import LonnyMQError
from unit.test_calls import every_call

pytestmark = pytest.mark.parametrize("fortress", ["pg18", "pg15"], indirect=True)
Privilege = tuple[str, str, str, str]
ACL = """
with thing as (
  select 'schema' as kind, n.nspname::text as name, coalesce(n.nspacl, acldefault('n', n.nspowner)) as acl
  from pg_namespace n where n.nspname = 'lonnymq'
  union all
  select case c.relkind when 'S' then 'sequence' else 'table' end, c.relname,
    coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))
  from pg_class c where c.relnamespace = 'lonnymq'::regnamespace and c.relkind not in ('i', 'I', 'c')
  union all
  select 'function', p.oid::regprocedure::text, coalesce(p.proacl, acldefault('f', p.proowner))
  from pg_proc p where p.pronamespace = 'lonnymq'::regnamespace
  union all
  select 'default', d.defaclobjtype::text || coalesce(' in ' || d.defaclnamespace::regnamespace, ''), d.defaclacl
  from pg_default_acl d
  union all
  select 'column', format('%s.%s', a.attrelid::regclass, a.attname), a.attacl
  from pg_attribute a join pg_class c on c.oid = a.attrelid
  where c.relnamespace = 'lonnymq'::regnamespace and a.attacl is not null
)
select t.kind, t.name, coalesce(r.rolname, 'PUBLIC'),
  a.privilege_type || case when a.is_grantable then ' and to grant it' else '' end
from thing t
cross join lateral aclexplode(t.acl) a
left join pg_roles r on r.oid = a.grantee
"""
OWNERS = """
select n.nspowner::regrole::text from pg_namespace n where n.nspname = 'lonnymq'
union select c.relowner::regrole::text from pg_class c where c.relnamespace = 'lonnymq'::regnamespace
union select p.proowner::regrole::text from pg_proc p where p.pronamespace = 'lonnymq'::regnamespace
"""
DEFINERS = """
select distinct p.proname from pg_proc p
where p.pronamespace = 'lonnymq'::regnamespace and p.prosecdef
"""
LOOSE = """
select p.proname from pg_proc p
where p.prosecdef and p.pronamespace = 'lonnymq'::regnamespace
  and 'search_path=pg_catalog, pg_temp' <> all (coalesce(p.proconfig, '{}'))
"""
POLICIES = """
select c.relname, c.relrowsecurity, pg_get_expr(y.polqual, c.oid)
from pg_class c left join pg_policy y on y.polrelid = c.oid
where c.relnamespace = 'lonnymq'::regnamespace and c.relkind in ('r', 'p') order by 1
"""


def table(root: psycopg.Connection) -> dict[str, tuple[str, set[str]]]:
    """The one table of grants: by function, with whose rights it runs and who may call it."""
    rows = root.execute(sql_files("install")["grants"].encode())
    return {name: (runs_as, set(roles)) for name, runs_as, roles in rows}


def acl(root: psycopg.Connection, kind: str) -> set[Privilege]:
    """What others than the owner may."""
    found = {row for row in root.execute(ACL) if row[0] == kind}
    return {row for row in found if row[2] != "lonnymq_owner"}


def functions_of(root: psycopg.Connection, name: str) -> list[str]:
    query = "select oid::regprocedure::text from pg_proc where pronamespace = 'lonnymq'::regnamespace and proname = %s"
    return [row[0] for row in root.execute(query, (name,))]


def test_the_functions_are_granted_as_the_table_says_and_to_nobody_else(root) -> None:
    expected = {
        ("function", function, f"lonnymq_{role}", "EXECUTE")
        for name, (_, roles) in table(root).items()
        for function in functions_of(root, name)
        for role in roles
    }
    assert acl(root, "function") == expected


def test_the_schema_may_be_used_and_no_table_be_touched(root) -> None:
    assert acl(root, "schema") == {
        ("schema", "lonnymq", f"lonnymq_{role}", "USAGE") for role in ROLES
    }
    assert acl(root, "table") | acl(root, "sequence") | acl(root, "column") == set()


def test_what_is_made_later_is_not_for_everybody(root) -> None:
    assert acl(root, "default") == set()
    root.execute("set role lonnymq_owner")
    root.execute("create function lonnymq.later() returns integer language sql return 1")
    root.execute("reset role")
    assert ("function", "lonnymq.later()") not in {row[:2] for row in acl(root, "function")}


def test_everything_belongs_to_the_owner_who_cannot_log_in(root, login: Login) -> None:
    assert root.execute(OWNERS).fetchall() == [("lonnymq_owner",)]
    with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
        psycopg.connect(login("lonnymq_owner"))


def test_the_functions_of_the_table_run_as_their_owner_with_a_fixed_search_path(root) -> None:
    expected = {name for name, (runs_as, _) in table(root).items() if runs_as == "owner"}
    assert {name for (name,) in root.execute(DEFINERS)} == expected
    assert root.execute(LOOSE).fetchall() == []


@pytest.mark.parametrize("role", ROLES)
def test_a_login_can_call_what_its_role_is_for_and_is_refused_the_rest(
    root, login: Login, role: str
) -> None:
    grants = table(root)
    source = source_of(login(f"a_{role}"))
    wrong = []
    for name, call in every_call().items():
        function = DESCRIPTIONS[name].function
        may = role in grants[function][1]
        if may is is_refused(source, call):
            wrong.append((name, may))
    source.close()
    assert wrong == []


def is_refused(source, call: Call[object]) -> bool:
    try:
        run(source, call)
    except InsufficientPrivilege:
        return True
    except LonnyMQError:
        pass  # allowed, and told that there is no such thing
    return False


@pytest.mark.parametrize("role", [*ROLES, "stranger"])
def test_no_login_reads_or_writes_a_table(root, login: Login, role: str) -> None:
    tables = root.execute(
        "select oid::regclass::text from pg_class"
        " where relnamespace = 'lonnymq'::regnamespace and relkind in ('r', 'p', 'S')"
    ).fetchall()
    assert len(tables) > 15
    name = "stranger" if role == "stranger" else f"a_{role}"
    with psycopg.connect(login(name), autocommit=True) as connection:
        for (each,) in tables:
            with pytest.raises(InsufficientPrivilege):
                connection.execute(f"select from {each}".encode())
        with pytest.raises(InsufficientPrivilege):
            connection.execute("delete from lonnymq.message")
        with pytest.raises(InsufficientPrivilege):
            connection.execute("create table lonnymq.mine ()")


def test_a_stranger_calls_nothing(root, login: Login) -> None:
    source = source_of(login("stranger"))
    assert all(is_refused(source, call) for call in every_call().values())
    source.close()


@pytest.mark.parametrize(
    "harm",
    [
        "grant execute on function lonnymq.message_purge to public",
        "grant execute on function lonnymq.fold_run to lonnymq_producer",
        "alter function lonnymq.message_dequeue reset search_path",
        "alter function lonnymq.message_dequeue security invoker",
        "revoke all on function lonnymq.message_dequeue from lonnymq_consumer",
        "alter function lonnymq.fold_run owner to postgres",
        "alter table lonnymq.message owner to postgres",
        "alter schema lonnymq owner to postgres",
        "revoke usage on schema lonnymq from lonnymq_producer",
        "revoke all on schema lonnymq from lonnymq_owner",
        "revoke all on lonnymq.message from lonnymq_owner",
        "revoke all on sequence lonnymq.seat_seq from lonnymq_owner",
        "revoke all on function lonnymq.fold_run from lonnymq_owner",
        "drop policy restricted on lonnymq.message",
        "alter table lonnymq.message disable row level security",
        "update lonnymq.installed set functions_checksum = ''",
    ],
)
def test_an_install_mends_rights_that_were_changed(root, guarded: str, harm: str) -> None:
    def state() -> tuple[object, ...]:
        return (
            set(root.execute(ACL)),
            root.execute(OWNERS).fetchall(),
            root.execute(LOOSE).fetchall(),
            root.execute(POLICIES).fetchall(),
        )

    before = state()
    root.execute(harm.encode())
    install(guarded)
    assert state() == before


def test_rights_that_were_given_to_others_by_hand_stay(root, guarded: str, login: Login) -> None:
    root.execute("grant usage on schema lonnymq to stranger")
    root.execute("grant execute on function lonnymq.queue_stats to stranger")
    install(guarded, roles=True)
    with psycopg.connect(login("stranger")) as connection:
        assert connection.execute("select * from lonnymq.queue_stats()").fetchone()


def test_a_queue_without_roles_is_its_owners_alone(root, guarded: str, login: Login) -> None:
    install(guarded, roles=False)
    assert acl(root, "function") == set()
    assert root.execute(DEFINERS).fetchall() == []
    assert root.execute("select lonnymq.message_create('acme', 'x')").fetchone()
    source = source_of(login("a_admin"))
    assert all(is_refused(source, call) for call in every_call().values())
    source.close()
