"""Rule 14: dead rows that somebody's open snapshot keeps do not lie in the path of a dequeue.

Counted is what one dequeue reads, in every function that it calls, while the snapshot is held.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from database.rules.conftest import OpenSession
from database.rules.factories import Session, lease, numbered

pytestmark = pytest.mark.timeout(120)

# A clock that can be moved without leaving dead rows of its own.
CLOCK = """
create sequence lonnymq.test_clock_seq;
select setval('lonnymq.test_clock_seq', lonnymq.epoch());
create or replace function lonnymq.epoch(p_at timestamptz default clock_timestamp())
returns bigint language sql volatile as 'select last_value from lonnymq.test_clock_seq';
"""
ADVANCE = "select setval('lonnymq.test_clock_seq', last_value + %s) from lonnymq.test_clock_seq"
CYCLE = """
do $do$
declare
  v_channels text[] := '{channels}';
  v_cursor bigint[];
  v_ids bigint[];
  v_tokens uuid[];
begin
  for v_turn in 1 .. {cycles} loop
    perform setval('lonnymq.test_clock_seq', last_value + {advance}) from lonnymq.test_clock_seq;
    perform lonnymq.message_create(v_channels[1 + v_turn % cardinality(v_channels)], '');
    commit;
    select array_agg(d.id), array_agg(d.token), max(d.cursor) into v_ids, v_tokens, v_cursor
    from lonnymq.message_dequeue(1, 30000, null, v_cursor) d;
    commit;
    if v_ids[1] is not null then
      perform lonnymq.message_complete(v_ids, v_tokens);
    end if;
    commit;
  end loop;
end
$do$
"""


class Costs(NamedTuple):
    """The pages that a dequeue touches, and the entries of indexes that it reads, dead or alive."""

    pages: int
    entries: int


class Load:
    """Create, dequeue and complete, again and again, over some channels, with so much time between."""

    def __init__(self, session: Session, channels: list[str], advance: int = 0) -> None:
        self.session, self.channels, self.advance = session, channels, advance
        session.connection.execute(CLOCK)

    def run(self, cycles: int) -> None:
        names = "{" + ",".join(self.channels) + "}"
        self.session.connection.execute(
            CYCLE.format(channels=names, cycles=cycles, advance=self.advance).encode()
        )

    def costs(self) -> Costs:
        """What one dequeue costs: the least of a few, for now and then one of them tidies up as well."""
        pages, entries = [], []
        for number in range(11):
            self.session.rows(ADVANCE, self.advance)
            self.session.create(self.channels[number % len(self.channels)])
            costs = self.session.dequeue_costs()
            pages.append(costs[0])
            entries.append(costs[1])
            held = self.session.rows("select * from lonnymq.message where token is not null")
            self.session.complete(*map(lease, held))
        return Costs(min(pages), min(entries))


@contextmanager
def held_snapshot(other: Session) -> Iterator[None]:
    """An analyst's transaction that has read the tables and is left open."""
    with other.connection.transaction():
        other.rows("set transaction isolation level repeatable read")
        other.rows(
            "select count(*) from lonnymq.message, lonnymq.channel, lonnymq.change, lonnymq.lease"
        )
        yield


def plain(session: Session) -> None:
    pass


def limited(session: Session) -> None:
    session.set("c0", max_concurrency=1)


def wider(session: Session) -> None:
    session.set("c0", max_concurrency=10)


def throttled(session: Session) -> None:
    session.set("c0", min_interval_ms=10)


def bursting(session: Session) -> None:
    session.set("c0", min_interval_ms=10, burst=5)


def capped(session: Session) -> None:
    session.set("c0", max_size=100_000)


def whole_queue(session: Session) -> None:
    session.queue_set(max_concurrency=1)


def beside_a_backlog(session: Session) -> None:
    session.fill("backlog", 10_000)


Arrange = Callable[[Session], None]
# What is done first, how many channels take part, how much time passes in a cycle.
RUN_EMPTY: dict[str, tuple[Arrange, int, int]] = {
    "an unlimited channel": (plain, 1, 0),
    "a channel that saturates each time": (limited, 1, 0),
    "a channel with a concurrency that is not reached": (wider, 1, 0),
    "a channel that is throttled each time": (throttled, 1, 10),
    "a channel with a rate and a burst": (bursting, 1, 10),
    "a channel with a capacity": (capped, 1, 0),
    "a queue with a limit of its own": (whole_queue, 1, 0),
    "leases whose time has passed": (plain, 1, 40_000),
    "many channels that go idle and come back": (plain, 50, 0),
    "many channels that saturate while time passes": (limited, 50, 40_000),
}
WITH_A_BACKLOG: dict[str, tuple[Arrange, int, int]] = {
    "an unlimited channel": (plain, 1, 0),
    "a channel that saturates each time": (limited, 1, 0),
    "many channels that flap beside one with a backlog": (beside_a_backlog, 50, 0),
}


def costs_of(load: Load, other: Session, *phases: int) -> list[Costs]:
    """The costs of a dequeue after each phase of so many cycles, under one held snapshot."""
    load.run(100)
    costs = []
    with held_snapshot(other):
        for cycles in phases:
            load.run(cycles)
            costs.append(load.costs())
    print(costs)
    return costs


QUICK = ("an unlimited channel", "many channels that saturate while time passes")


@pytest.mark.parametrize(
    "case",
    [pytest.param(each, marks=() if each in QUICK else pytest.mark.long) for each in RUN_EMPTY],
)
def test_a_dequeue_does_not_pass_more_and_more_dead_rows_while_a_snapshot_is_held(
    open_session: OpenSession, dsn_18: str, case: str
) -> None:
    arrange, channels, advance = RUN_EMPTY[case]
    session, other = open_session(dsn_18), open_session(dsn_18)
    load = Load(session, numbered("c", channels), advance)
    arrange(session)
    early, late = costs_of(load, other, 200, 2500)
    # One entry for each dead row would be 2,500; a floor that has not been moved for long is a few hundred.
    assert late.entries <= early.entries + 1200
    assert late.pages <= early.pages + 200
    assert session.check() == []


@pytest.mark.long
@pytest.mark.parametrize("case", WITH_A_BACKLOG)
def test_a_dequeue_from_a_backlog_passes_what_a_floor_leaves_and_no_more(
    open_session: OpenSession, dsn_18: str, case: str
) -> None:
    """A floor is moved up now and then: what was finished since is passed, and not what was before."""
    arrange, channels, advance = WITH_A_BACKLOG[case]
    session, other = open_session(dsn_18), open_session(dsn_18)
    load = Load(session, numbered("c", channels), advance)
    arrange(session)
    session.fill("c0" if channels == 1 else "c00", 300)
    early, late = costs_of(load, other, 200, 2500)
    assert late.entries <= early.entries + 1200
    assert session.check() == []


@pytest.mark.long
def test_an_idle_poll_does_not_grow_while_a_snapshot_is_held(
    open_session: OpenSession, dsn_18: str
) -> None:
    session, other = open_session(dsn_18), open_session(dsn_18)
    load = Load(session, numbered("c", 10), 40_000)
    load.run(100)
    touched = []
    with held_snapshot(other):
        for _ in range(3):
            session.dequeue()
            session.dequeue()
            touched.append(min(session.dequeue_costs()[1] for _ in range(5)))
            load.run(500)
    assert touched[2] <= touched[0] + 100


def test_the_measure_sees_dead_rows_that_lie_in_the_path(
    open_session: OpenSession, dsn_18: str
) -> None:
    """The floor of a channel is what keeps them out of it: without one, every dequeue passes them all."""
    session, other = open_session(dsn_18), open_session(dsn_18)
    load = Load(session, ["c0"])
    session.fill("c0", 200)
    load.run(100)
    with held_snapshot(other):
        before = load.costs()
        load.run(1000)
        session.set("c0", weight=2)  # a changed setting has the whole line looked at, once
        pages, entries = session.dequeue_costs()
        assert entries > before.entries + 900
        assert pages > before.pages + 20
