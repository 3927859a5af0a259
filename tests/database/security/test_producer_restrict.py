"""Producers restricted to their channels: inside the functions, and once more by the tables."""

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

import lonnymq
from database.security.logins import Login
from lonnymq import NewMessage, install
from lonnymq.errors import InvalidArgument, NotAllowed
from support import message_id

EVERY_WAY = {
    "one": lambda queue, channel: queue.create(channel, b"x"),
    "one with a key": lambda queue, channel: queue.create(channel, b"x", key="n"),
    "one among many": lambda queue, channel: queue.create_many(
        [NewMessage(b"x", channel="acme"), NewMessage(b"x", channel=channel)]
    ),
    "many with keys": lambda queue, channel: queue.create_many(
        [NewMessage(b"x", channel=channel, key="n")]
    ),
    "from inside a transaction": lambda queue, channel: in_transaction(queue, channel),
}


def in_transaction(queue: lonnymq.Queue, channel: str) -> None:
    with queue._source.connection() as connection, connection.transaction():
        queue.create(channel, b"x", using=connection)


@pytest.fixture
def admin(login: Login):
    with lonnymq.Queue(login("a_admin")) as queue:
        yield queue


@pytest.fixture
def producer(login: Login):
    with lonnymq.Queue(login("a_producer")) as queue:
        yield queue


@pytest.mark.parametrize("way", EVERY_WAY)
def test_a_confined_producer_creates_in_its_channels_and_in_no_others(
    admin, producer, root, way: str
) -> None:
    assert (
        admin.producer_restrict("a_producer", channels=["acme"], prefixes=["acme/"]) == "restricted"
    )
    for channel in ("acme", "acme/eu"):
        EVERY_WAY[way](producer, channel)
    before = root.execute("select count(*) from lonnymq.message").fetchone()
    for channel in ("globex", "acm", "acmex", "ACME", "x/acme/", "acme\u200b", "%", "acme%"):
        with pytest.raises(NotAllowed, match="is not allowed for user a_producer"):
            EVERY_WAY[way](producer, channel)
    assert root.execute("select count(*) from lonnymq.message").fetchone() == before


def test_a_refused_producer_learns_nothing_of_the_channel(admin, producer) -> None:
    admin.create("globex", b"x", key="taken")
    admin.channel_set("full", max_size=1)
    admin.create("full", b"x")
    admin.producer_restrict("a_producer", channels=["acme"])
    for channel, key in (("globex", "taken"), ("full", None)):
        with pytest.raises(NotAllowed) as caught:
            producer.create(channel, b"x", key=key)
        assert "taken" not in str(caught.value)
        assert "full of" not in str(caught.value)


def test_a_confined_producer_takes_back_its_own_messages_only(admin, producer) -> None:
    admin.producer_restrict("a_producer", channels=["acme"])
    own, other = producer.create("acme", b"x").id, admin.create("globex", b"x").id
    with pytest.raises(NotAllowed):
        producer.cancel_many([own, other])
    with pytest.raises(NotAllowed):
        producer.cancel(other)
    assert producer.cancel(own) == "cancelled"
    assert len(admin.peek("globex")) == 1


def test_to_take_on_a_role_frees_nobody(admin, login: Login) -> None:
    admin.producer_restrict("a_producer", channels=["acme"])
    with psycopg.connect(login("a_producer"), autocommit=True) as connection:
        connection.execute("set role lonnymq_producer")
        with pytest.raises(psycopg.Error, match="not allowed for user a_producer") as caught:
            connection.execute("select lonnymq.message_create('globex', 'x')")
        assert caught.value.sqlstate == "LM007"


def test_a_login_that_takes_on_a_confined_role_is_confined(admin, root, login: Login) -> None:
    root.execute(
        "create role of_acme; grant lonnymq_producer to of_acme; grant of_acme to stranger"
    )
    admin.producer_restrict("of_acme", channels=["acme"])
    with psycopg.connect(login("stranger"), autocommit=True) as connection:
        connection.execute("set role of_acme")
        connection.execute("select lonnymq.message_create('acme', 'x')")
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("select lonnymq.message_create('globex', 'x')")
        assert caught.value.sqlstate == "LM007"
    root.execute("drop role of_acme")


def test_who_is_of_two_confined_roles_has_the_channels_of_both(admin, root, producer) -> None:
    root.execute(
        "create role of_acme; create role of_globex; grant of_acme, of_globex to a_producer"
    )
    admin.producer_restrict("of_acme", channels=["acme"])
    admin.producer_restrict("of_globex", channels=["globex"])
    assert [producer.channel_permitted(each) for each in ("acme", "globex", "initech")] == [
        True,
        True,
        False,
    ]
    root.execute("drop role of_acme; drop role of_globex")


def test_none_is_none_and_free_is_all(admin, producer) -> None:
    admin.producer_restrict("a_producer")
    with pytest.raises(NotAllowed):
        producer.create("acme", b"x")
    assert admin.producer_restrict("a_producer") == "unchanged"
    assert [(each.role, each.channels, each.is_known) for each in admin.producer_list()] == [
        ("a_producer", [], True)
    ]
    assert admin.producer_unrestrict("a_producer") == "unrestricted"
    assert admin.producer_unrestrict("a_producer") == "not_found"
    producer.create("acme", b"x")


def test_a_superuser_is_not_confined(admin, guarded: str) -> None:
    admin.producer_restrict("a_producer", channels=["acme"])
    with lonnymq.Queue(guarded) as queue:
        assert message_id(queue.create("globex", b"x"))


def test_a_producer_restricts_nobody(producer) -> None:
    with pytest.raises(InsufficientPrivilege):
        producer.producer_unrestrict("a_producer")


def test_what_cannot_be_confined_is_refused(admin, guarded: str) -> None:
    with pytest.raises(InvalidArgument, match="there is no role 'nobody'"):
        admin.producer_restrict("nobody", channels=["acme"])
    with pytest.raises(InvalidArgument, match="list of str"):
        admin.producer_restrict("a_producer", channels="acme")
    install(guarded, roles=False)
    with lonnymq.Queue(guarded) as queue, pytest.raises(InvalidArgument, match="has no roles"):
        queue.producer_restrict("a_producer", channels=["acme"])


# The second line


@pytest.fixture
def trusted_too_much(admin, root, login: Login):
    """A restricted producer to whom somebody has granted tables."""
    admin.producer_restrict("a_producer", channels=["acme"])
    admin.create_many([NewMessage(b"x", channel=each) for each in ("acme", "globex")])
    root.execute(
        "grant select, insert, update, delete on all tables in schema lonnymq to a_producer"
    )
    with psycopg.connect(login("a_producer"), autocommit=True) as connection:
        yield connection
    root.execute("revoke all on all tables in schema lonnymq from a_producer")


def test_rows_of_other_channels_are_out_of_sight_and_out_of_reach(trusted_too_much, root) -> None:
    seen = trusted_too_much.execute("select channel from lonnymq.message").fetchall()
    assert seen == [("acme",)]
    assert trusted_too_much.execute("delete from lonnymq.message").rowcount == 1
    assert trusted_too_much.execute("update lonnymq.change set rescan = true").rowcount == 1
    trusted_too_much.execute("insert into lonnymq.message (channel, content) values ('acme', 'x')")
    with pytest.raises(InsufficientPrivilege, match="row-level security"):
        trusted_too_much.execute(
            "insert into lonnymq.message (channel, content) values ('globex', 'x')"
        )
    assert root.execute("select count(*) from lonnymq.message").fetchone() == (2,)


def test_without_the_second_line_they_would_be_in_reach(trusted_too_much, root) -> None:
    root.execute("alter table lonnymq.message disable row level security")
    assert trusted_too_much.execute("delete from lonnymq.message").rowcount == 2


def test_a_restricted_producer_finds_no_status_and_no_result_of_other_channels(
    admin: lonnymq.Queue, producer: lonnymq.Queue
) -> None:
    admin.producer_restrict("a_producer", channels=["acme"])
    own, other = (message_id(admin.create(each, b"x")) for each in ("acme", "globex"))
    admin.complete_many(admin.dequeue(2), results=[b"r", b"r"])
    assert [each.state for each in producer.status_many([own, other])] == ["completed", "not_found"]
    assert (producer.result(own), producer.result(other)) == (b"r", None)
    assert producer.status(other).channel is None
    assert admin.result(other) == b"r"


def test_a_restricted_producer_waits_for_messages_of_its_own_channels_only(
    admin: lonnymq.Queue, producer: lonnymq.Queue, root
) -> None:
    admin.producer_restrict("a_producer", channels=["acme"])
    own, other = (message_id(admin.create(each, b"x")) for each in ("acme", "globex"))
    with pytest.raises(lonnymq.errors.WaitTimeout, match=f"message {own} has not ended"):
        producer.wait_many([own, other], timeout_ms=0)
    watched = root.execute("select id from lonnymq.message where watched").fetchall()
    assert watched == [(own,)]
    admin.complete_many(admin.dequeue(2))
    states = [each.state for each in producer.wait_many([own, other])]
    assert states == ["completed", "not_found"]


def test_a_restricted_producer_adds_nothing_to_a_group_of_another_channel(
    admin: lonnymq.Queue, producer: lonnymq.Queue
) -> None:
    admin.producer_restrict("a_producer", channels=["acme"])
    group = admin.group_create("globex", b"all")
    own = message_id(producer.create("acme", b"x"))
    with pytest.raises(lonnymq.errors.InvalidArgument, match=f"group {group} does not exist"):
        producer.create("acme", b"x", group=group)
    with pytest.raises(lonnymq.errors.InvalidArgument, match=f"group {group} does not exist"):
        producer.group_add(group, [own])
    assert admin.group_status(group).remaining == 0
    assert producer.create("acme", b"x", group=producer.group_create("acme", b"all"))
