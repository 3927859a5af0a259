"""Every operation and the clock, in any order, against the rules in plain Python."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from psycopg.types.json import Jsonb

from database.model.model import Message, Model
from database.model.queue_reset import clean, set_clock, stop_the_clock
from database.model.turns import A_SECOND, Turns, judge_dequeue, judge_nothing

EXAMPLES = int(os.environ.get("LONNYMQ_MODEL_EXAMPLES", "80"))
STEPS = int(os.environ.get("LONNYMQ_MODEL_STEPS", "50"))
SEED = int(os.environ.get("LONNYMQ_MODEL_SEED", "20240607"))

CHANNELS = st.sampled_from("abcd")
KEYS = st.sampled_from([None, None, None, "x", "y"])
KINDS = st.sampled_from([None, "k", "l"])
DELAYS = st.sampled_from([None, 0, 1, 500, 60_000])
MOMENTS = st.sampled_from([None, None, -(2**63), -7, 0, "past", "now", "soon", "later", 2**63 - 1])
STATES = st.sampled_from([None, b"", b"half"])
LEASES = st.sampled_from([1, 1_000, 30_000, 30_000, 200_000])
LIMITS = st.sampled_from([2, 3, 5, 7, 20])
PICK = st.integers(0, 999)
PICKS = st.lists(PICK, min_size=1, max_size=6)
NOBODY = UUID(int=0)
OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "max_concurrency": st.sampled_from([None, 1, 2, 5]),
    "min_interval_ms": st.sampled_from([None, 1, 50, 1_000]),
    "burst": st.sampled_from([1, 2, 5]),
    "max_size": st.sampled_from([None, 1, 3, 10]),
    "when_full": st.sampled_from(["reject", "drop"]),
    "weight": st.sampled_from([1, 1, 2, 3]),
    "max_attempts": st.sampled_from([1, 2, 5]),
    "retry_delays_ms": st.sampled_from([[0], [100, 2_000], [1_000]]),
}
# Mostly one thing at a time: channels that have every limit give little out.
CHANNEL_OPTIONS = st.one_of(
    st.sampled_from(
        [{}, {"weight": 3}, {"weight": 2}, {"max_attempts": 2}, {"max_concurrency": 3}]
    ),
    st.just({"min_interval_ms": 1_000, "burst": 3}),
    *[st.fixed_dictionaries({name: values}) for name, values in OPTIONS.items()],
    st.fixed_dictionaries({}, optional=OPTIONS),
)
QUEUE_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "max_concurrency": st.sampled_from([None, None, 1, 3]),
        "history": st.sampled_from(["off", "outcomes", "content"]),
        "channel_idle_ms": st.sampled_from([1, 86_400_000]),
        **{f"default_{name}": values for name, values in OPTIONS.items()},
    },
)
MESSAGES = st.tuples(CHANNELS, st.binary(max_size=3), MOMENTS, DELAYS, KEYS, KINDS)


class QueueMachine(RuleBasedStateMachine):
    """Drives the queue over one connection, and the model beside it."""

    connection: psycopg.Connection[Any]

    def __init__(self) -> None:
        super().__init__()
        self.model = Model(clean(self.connection))
        self.leases: list[tuple[int, Any]] = []
        self.turns = Turns()
        self.cursor: list[int] | None = None
        self.steps = 0
        self.seed = 1

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(query.encode(), values).fetchall()

    def word(self, query: str, *values: Any) -> Any:
        [[answer]] = self.rows(f"select lonnymq.{query}", *values)
        return answer

    def moment(self, moment: int | str | None) -> int | None:
        steps = {"past": -5_000, "now": 0, "soon": 400, "later": 100_000}
        return self.model.now + steps[moment] if isinstance(moment, str) else moment

    def lease(self, pick: int) -> tuple[int, Any]:
        """A lease that holds, mostly; else an older one of the same message, or one that never was."""
        held = [(each.id, each.token) for each in self.model.leased()]
        ids = {id_ for id_, _ in held}
        stale = [lease for lease in self.leases if lease[0] in ids and lease not in held]
        known = held * 2 + stale[-5:] + self.leases[-5:] + [(pick, NOBODY)]
        return known[pick % len(known)]

    def known_id(self, pick: int) -> int:
        known = [*self.model.messages, *self.model.dead, 0]
        return known[pick % len(known)]

    # ---- create

    @initialize(
        policies=st.tuples(*[st.just({}) | CHANNEL_OPTIONS] * 4),
        backlog=st.sampled_from([0, 4, 12]),
        attempts=st.sampled_from([1, 2, 5]),
        messages=st.lists(MESSAGES, max_size=8),
        limits=st.lists(st.sampled_from([1, 1, 2, 3, 5, 10, 20]), max_size=8),
    )
    def begin(
        self,
        policies: Any,
        backlog: int,
        attempts: int,
        messages: list[Any],
        limits: list[int],
    ) -> None:
        """Channels of several weights and limits, a backlog in each, and some turns taken."""
        self.queue_set({"default_max_attempts": attempts})
        for channel, options in zip("abcd", policies, strict=True):
            if options:
                self.channel_set(channel, options)
            if backlog:
                self.create_burst(channel, backlog)
        self.create_many(messages, False)
        for limit in limits:
            self.dequeue(limit, 30_000, True)

    @rule(channel=CHANNELS, count=st.sampled_from([3, 10]))
    def create_burst(self, channel: str, count: int) -> None:
        self.create_many([(channel, b"", None, None, None, None)] * count, False)

    @rule(message=MESSAGES)
    def create(self, message: Any) -> None:
        channel, content, moment, delay_ms, key, kind = message
        at = self.moment(moment) if delay_ms is None else None
        [answer] = self.rows(
            "select * from lonnymq.message_create(%s, %s, %s, %s, %s, %s)",
            channel, content, at, delay_ms, key, kind,
        )  # fmt: skip
        self.judge_create((channel, content, at, delay_ms, key, kind), answer)

    @rule(messages=st.lists(MESSAGES, max_size=8), has_keys=st.booleans())
    def create_many(self, messages: list[Any], has_keys: bool) -> None:
        inputs = [
            (channel, content, self.moment(moment) if delay is None else None, delay,
             key if has_keys else None, kind)
            for channel, content, moment, delay, key, kind in messages
        ]  # fmt: skip
        columns: list[list[Any] | None] = [list(each) for each in zip(*inputs, strict=True)]
        columns = columns or [[], [], [], [], [], []]
        columns[4] = columns[4] if has_keys else None
        answers = self.rows(
            "select * from lonnymq.message_create_many"
            "(%s::text[], %s::bytea[], %s::bigint[], %s::bigint[], %s::text[], %s::text[])",
            *columns,
        )
        assert [answer[0] for answer in answers] == list(range(1, len(inputs) + 1))
        pairs = list(zip(inputs, (answer[1:] for answer in answers), strict=True))
        for given, answer in pairs:
            self.judge_create(given, answer)
        ids = [answer[2] for answer in answers if answer[1] == "created"]
        assert ids == sorted(ids)

    def judge_create(self, given: Any, answer: Any) -> None:
        channel, content, at, delay_ms, key, kind = given
        word, id_, reason, size, max_size = answer
        model, policy = self.model, self.model.policy(channel)
        rejection = model.rejection(channel, key)
        assert (word, reason) == ((rejection[0], rejection[2]) if rejection else ("created", None))
        if word == "duplicate":
            assert rejection
            assert id_ == rejection[1]
        if word == "created":
            assert id_ not in model.messages
            at = model.created_at(at, delay_ms)
            model.create(Message(id_, channel, content, at, model.now, key, kind))
        if word != "duplicate":
            assert max_size == policy.max_size
            assert size == (len(model.of(channel)) if max_size else None)

    # ---- dequeue and settle

    @rule(lease_ms=LEASES, times=st.sampled_from([1, 2, 8]))
    def dequeue_one_by_one(self, lease_ms: int, times: int) -> None:
        for _ in range(times):
            self.dequeue(1, lease_ms, True)

    @rule(limit=LIMITS, lease_ms=LEASES)
    def dequeue_batch(self, limit: int, lease_ms: int) -> None:
        self.dequeue(limit, lease_ms, True)

    @rule(limit=LIMITS, lease_ms=LEASES)
    def dequeue_from_anywhere(self, limit: int, lease_ms: int) -> None:
        self.dequeue(limit, lease_ms, False)

    def dequeue(self, limit: int, lease_ms: int, has_cursor: bool, again: bool = False) -> None:
        model = self.model
        self.draw_the_same_lots()
        rows = self.rows(
            "select id, channel, token, answer, content, state, attempt, kind, key, created_at,"
            " dequeue_at, dequeued_at, lease_until, retry_at, cursor"
            " from lonnymq.message_dequeue(%s, %s, %s, %s)",
            limit, lease_ms, "w", self.cursor if has_cursor else None,
        )  # fmt: skip
        answer = rows[0][3]
        if has_cursor:
            self.cursor = rows[-1][-1]
        if answer == "contended":
            # It found nothing, and took leases back that ran out or folded notes that could wait: what it
            # found there is for the next call.
            model.fold()
            assert not again
            self.expire(0)
            self.turns.keep([])
            self.dequeue(limit, lease_ms, has_cursor, again=True)
            return
        # A busy queue looks for leases that ran out once a second.
        self.expire(2 * A_SECOND if answer == "leased" else A_SECOND)
        model.fold()
        taken = [row[:2] for row in rows if row[3] == "leased"]
        weights = {name: each.policy.weight for name, each in model.channels.items()}
        backlogged = judge_dequeue(model, taken, limit)
        names = [name for _, name in taken]
        # A caller without a cursor begins anywhere: its call is fair in itself.
        (self.turns if has_cursor else Turns(backlogged)).take(names, backlogged, weights)
        self.turns.keep(backlogged)
        for row in rows if taken else ():
            self.judge_lease(row, lease_ms)
        if not taken:
            assert [row[3] for row in rows] == ["empty"]
            judge_nothing(model, rows[0][-2])

    def draw_the_same_lots(self) -> None:
        """How many lots a call draws depends on how long it takes: each one begins with a seed of its own."""
        self.seed = (self.seed * 7 + 3) % 1_009
        self.rows("select setseed(%s)", self.seed / 1_009)

    def expire(self, slack: int) -> list[str]:
        """Follow which leases were taken back: ones that ran out, and all that did so slack ago."""
        held = {token for (token,) in self.rows("select token from lonnymq.message")}
        gone = [each for each in self.model.overdue() if each.token not in held]
        left = [each for each in self.model.overdue() if each.token in held]
        assert not [each for each in left if (each.lease_until or 0) <= self.model.now - slack]
        return self.model.expire(gone)

    def judge_lease(self, row: Any, lease_ms: int) -> None:
        message = self.model.messages[row[0]]
        self.model.lease(message, row[2], lease_ms, "w")
        self.leases.append((message.id, message.token))
        assert row[4:-1] == (
            message.content, message.state, message.attempt, message.kind, message.key,
            message.created_at, message.dequeue_at, message.dequeued_at, message.lease_until, None,
        )  # fmt: skip

    def settle(
        self, picks: list[int], single: str, many: str, judge: Any, *columns: list[Any]
    ) -> None:
        """One lease by the function for one, several by the one for arrays."""
        leases = [self.lease(pick) for pick in picks]
        ids, tokens = ([lease[place] for lease in leases] for place in (0, 1))
        if len(leases) == 1:
            values = [column[0] for column in columns]
            answers = [(ids[0], self.word(single, ids[0], tokens[0], *values))]
        else:
            rows = self.rows(f"select * from lonnymq.{many}", ids, tokens, *columns)
            answers = [row[:2] for row in rows]
        words = [judge(*given) for given in zip(ids, tokens, *columns, strict=True)]
        assert answers == [
            (id_, "not_found" if word == "lease_lost" and id_ not in self.model.messages else word)
            for id_, word in zip(ids, words, strict=True)
        ]

    @precondition(lambda self: self.leases)
    @rule(picks=PICKS, lease_ms=LEASES)
    def heartbeat(self, picks: list[int], lease_ms: int) -> None:
        leases = [self.lease(pick) for pick in picks]
        ids, tokens = ([lease[place] for lease in leases] for place in (0, 1))
        answers = self.rows(
            "select * from lonnymq.message_heartbeat(%s::bigint[], %s, %s)", ids, tokens, lease_ms
        )
        expected = [self.model.heartbeat(*lease, lease_ms) for lease in leases]
        until = self.model.now + lease_ms
        assert answers == [
            (id_, word, until if word == "extended" else None)
            for id_, word in zip(ids, expected, strict=True)
        ]

    @precondition(lambda self: self.leases)
    @rule(picks=PICKS)
    def complete(self, picks: list[int]) -> None:
        self.settle(
            picks,
            "message_complete(%s, %s)",
            "message_complete(%s::bigint[], %s)",
            self.model.complete,
        )

    @precondition(lambda self: self.leases)
    @rule(picks=PICKS, delay_ms=DELAYS, state=STATES, moment=MOMENTS)
    def defer(
        self, picks: list[int], delay_ms: int | None, state: bytes | None, moment: Any
    ) -> None:
        at = self.moment(moment) if delay_ms is None else None
        columns: list[list[Any]] = [
            [delay_ms] * len(picks),
            [state] * len(picks),
            [at] * len(picks),
        ]
        self.settle(
            picks,
            "message_defer(%s, %s, %s::bigint, %s::bytea, %s::bigint)",
            "message_defer(%s::bigint[], %s, %s::bigint[], %s::bytea[], %s::bigint[])",
            self.model.defer, *columns,
        )  # fmt: skip

    @precondition(lambda self: self.leases)
    @rule(picks=PICKS, error=st.sampled_from([None, "boom"]), retry_ms=DELAYS, dead=st.booleans())
    def fail(self, picks: list[int], error: str | None, retry_ms: int | None, dead: bool) -> None:
        columns: list[list[Any]] = [
            [error] * len(picks),
            [retry_ms] * len(picks),
            [dead] * len(picks),
        ]
        self.settle(
            picks,
            "message_fail(%s, %s, %s::text, %s::bigint, %s)",
            "message_fail(%s::bigint[], %s, %s::text[], %s::bigint[], %s)",
            self.model.fail, *columns,
        )  # fmt: skip

    # ---- take away, bring back

    @rule(picks=PICKS)
    def cancel(self, picks: list[int]) -> None:
        ids = list(dict.fromkeys(map(self.known_id, picks)))
        answers = self.rows("select * from lonnymq.message_cancel(%s::bigint[])", ids)
        assert answers == [(id_, self.model.cancel(id_)) for id_ in ids]

    @rule(channel=CHANNELS, limit=st.sampled_from([1, 100]))
    def purge(self, channel: str, limit: int) -> None:
        assert self.word("message_purge(%s, %s)", channel, limit) == self.model.purge(
            channel, limit
        )

    @precondition(lambda self: self.model.dead)
    @rule(picks=st.none() | PICKS, channel=st.sampled_from(["*", "a", "b"]), kind=KINDS)
    def dead_redrive(self, picks: list[int] | None, channel: str, kind: str | None) -> None:
        ids = picks and list(dict.fromkeys(map(self.known_id, picks)))
        rows = self.rows(
            "select * from lonnymq.dead_redrive(%s::bigint[], %s, %s)", ids, channel, kind
        )
        picked = self.model.dead_of(channel, kind, ids)
        answers = self.model.redrive(picked)
        order = ids or [each.id for each in picked]
        assert rows == [(id_, answers.get(id_, "not_found")) for id_ in order]

    @precondition(lambda self: self.model.dead)
    @rule(channel=st.sampled_from(["*", "a", "b"]), kind=KINDS, limit=st.sampled_from([1, 100]))
    def dead_purge(self, channel: str, kind: str | None, limit: int) -> None:
        gone = self.model.dead_of(channel, kind)[:limit]
        assert self.word("dead_purge(null, %s, %s, %s)", channel, kind, limit) == len(gone)
        for message in gone:
            del self.model.dead[message.id]

    # ---- policy

    @rule(channel=CHANNELS, options=CHANNEL_OPTIONS)
    def channel_set(self, channel: str, options: dict[str, Any]) -> None:
        if "weight" in options:
            self.turns.since.pop(channel, None)
        answer = self.word("channel_set(%s, %s)", channel, Jsonb(options))
        assert answer == self.model.set_channel(channel, **options)

    @rule(channel=CHANNELS, verb=st.sampled_from(["pause", "resume", "resume", "retire"]))
    def channel_switch(self, channel: str, verb: str) -> None:
        option, on, done, idle = {
            "pause": ("paused", True, "paused", "already_paused"),
            "resume": ("paused", False, "resumed", "not_paused"),
            "retire": ("retiring", True, "retiring", "already_retiring"),
        }[verb]
        exists = self.model.exists(channel)
        expected = "not_found"
        if exists:
            expected = done if self.model.switch(channel, option, on) else idle
        assert self.word(f"channel_{verb}(%s)", channel) == expected

    @rule(options=QUEUE_OPTIONS)
    def queue_set(self, options: dict[str, Any]) -> None:
        model = self.model
        before = (model.max_concurrency, model.history_mode, model.channel_idle_ms, model.defaults)
        defaults = {
            name.removeprefix("default_"): value
            for name, value in options.items()
            if name.startswith("default_")
        }
        model.max_concurrency = options.get("max_concurrency", model.max_concurrency)
        model.history_mode = options.get("history", model.history_mode)
        model.channel_idle_ms = options.get("channel_idle_ms", model.channel_idle_ms)
        model.defaults = type(model.defaults)(**{**vars(model.defaults), **defaults})
        after = (model.max_concurrency, model.history_mode, model.channel_idle_ms, model.defaults)
        assert self.word("queue_set(%s)", Jsonb(options)) == (
            "unchanged" if before == after else "changed"
        )
        model.is_folded = model.is_folded and before == after

    # ---- time

    @rule(by=st.sampled_from([1, 20, 500, 1_000, 10_000, 60_000, 90_000_000]))
    def advance(self, by: int) -> None:
        self.model.now += by
        self.model.is_folded = False
        set_clock(self.connection, self.model.now)

    @rule()
    def sweep(self) -> None:
        model = self.model
        self.draw_the_same_lots()
        [(expired, died, forgotten, _)] = self.rows("select * from lonnymq.queue_maintain()")
        ends = Counter(self.expire(A_SECOND))
        assert (expired, died) == (ends["retrying"], ends["dead"])
        model.fold()
        self.turns.keep([name for name in model.channels if model.eligible(name)])
        left = {name for (name,) in self.rows("select name from lonnymq.channel")}
        gone = [name for name in model.channels if name not in left]
        for name in list(model.channels):
            if name in gone:
                assert model.must_vanish(name) or model.may_vanish(name)
                model.forget(name)
            else:
                assert not model.must_vanish(name)
        assert forgotten == len(gone)
        assert left == set(model.channels)

    # ---- after each step

    def teardown(self) -> None:
        """At the end all is looked at, all that may run does, in fair turns, and old tokens end nothing."""
        if sys.exc_info()[0]:
            return
        for id_ in [*self.model.messages, *self.model.dead, 0]:
            self.explain(id_)
        self.drain()
        held = [(each.id, each.token) for each in self.model.leased()]
        self.end("complete", [lease for lease in self.leases if lease not in held])
        self.end("defer", held)
        self.agree()
        self.drain()
        self.end("complete", [(each.id, each.token) for each in self.model.leased()])
        self.agree()

    def drain(self) -> None:
        for limit in [1] * 12 + [20] * 99:
            if not self.model.leasable(limit):
                break
            self.dequeue(limit, 1_000, True)

    def end(self, verb: str, leases: list[tuple[int, Any]]) -> None:
        ids, tokens = ([lease[place] for lease in leases] for place in (0, 1))
        query = f"select answer from lonnymq.message_{verb}(%s::bigint[], %s::uuid[])"
        judge: dict[str, Callable[[int, Any], str]] = {
            "complete": self.model.complete,
            "defer": lambda id_, token: self.model.defer(id_, token, None, None, None),
        }
        assert self.rows(query, ids, tokens) == [(judge[verb](*lease),) for lease in leases]

    @invariant()
    def agree(self) -> None:
        """After each step the queue finds nothing wrong, and holds and shows what the model holds."""
        self.queue_check_finds_nothing()
        self.tables_hold_what_the_model_holds()
        self.history_has_each_attempt_that_ended()
        self.steps += 1
        channel = "abcd"[self.steps % 4]
        self.peek(channel, 1 + self.steps % 5)
        self.channel_stats(channel)
        self.explain(self.known_id(self.steps))
        self.dead_list(*[(None, None, 100), ("a", None, 1), (None, "k", 100)][self.steps % 3])

    def peek(self, channel: str, limit: int) -> None:
        answers = self.rows("select id, leased from lonnymq.message_peek(%s, %s)", channel, limit)
        first = self.model.of(channel)[:limit]
        assert answers == [(each.id, each.token is not None) for each in first]

    def explain(self, id_: int) -> None:
        [(word, sentence, fields)] = self.rows("select * from lonnymq.message_explain(%s)", id_)
        if (
            word == "new"
        ):  # a message that was leased straight off its note leaves the others' unfolded
            results = "select channel from lonnymq.change where not can_wait"
            assert (fields["channel"],) in self.rows(results)
        else:
            assert word in list(self.model.explanations(id_))
        assert sentence
        assert fields["id"] == id_

    def channel_stats(self, channel: str) -> None:
        model, policy = self.model, self.model.policy(channel)
        rows = self.rows(
            "select waiting, scheduled, leased, dead, paused, retiring"
            " from lonnymq.channel_stats(%s)", channel,
        )  # fmt: skip
        due, waiting = len(model.line(channel)), len(model.waiting(channel))
        leased, dead = len(model.leased(channel)), len(model.dead_of(channel, None))
        expected = (due, waiting - due, leased, dead, policy.paused, policy.retiring)
        assert rows == ([expected] if model.exists(channel) else [])

    def dead_list(self, channel: str | None, kind: str | None, limit: int) -> None:
        rows = self.rows("select id from lonnymq.dead_list(%s, %s, null, %s)", channel, kind, limit)
        assert rows == [(each.id,) for each in self.model.dead_of(channel, kind)[:limit]]

    def queue_check_finds_nothing(self) -> None:
        found = self.rows(
            "select invariant, channel, message_id, detail from lonnymq.queue_check()"
        )
        overdue = {
            each.id
            for each in self.model.leased()
            if (each.lease_until or 0) < self.model.now - 60_000
        }
        assert {row[2] for row in found if row[0] == "lease_overdue"} == overdue
        assert [row for row in found if row[0] != "lease_overdue"] == []

    def tables_hold_what_the_model_holds(self) -> None:
        alive = self.rows(
            "select id, channel, content, dequeue_at, created_at, key, kind, attempt, state, error,"
            " token, lease_until, dequeued_at, worker, null from lonnymq.message order by id"
        )
        dead = self.rows(
            "select id, channel, content, dequeue_at, created_at, key, kind, attempt, state, error,"
            " null, null, null, null, died_at from lonnymq.dead order by id"
        )
        assert alive == [
            tuple(vars(each).values()) for _, each in sorted(self.model.messages.items())
        ]
        assert dead == [tuple(vars(each).values()) for _, each in sorted(self.model.dead.items())]

    def history_has_each_attempt_that_ended(self) -> None:
        rows = self.rows(
            "select message_id, channel, kind, key, attempt, worker, outcome, created_at,"
            " dequeue_at, dequeued_at, finished_at, size, error, content from lonnymq.history"
        )
        assert Counter(rows) == Counter(self.model.history)


@pytest.mark.timeout(1800)  # an example that fails is made small, and that takes its time
@pytest.mark.parametrize("examples", [6, pytest.param(EXAMPLES, marks=pytest.mark.long)])
def test_the_queue_does_what_the_model_does(dsn_18: str, examples: int) -> None:
    print(
        f"LONNYMQ_MODEL_SEED={SEED} LONNYMQ_MODEL_EXAMPLES={examples} LONNYMQ_MODEL_STEPS={STEPS}"
    )
    with psycopg.connect(dsn_18, autocommit=True) as connection:
        stop_the_clock(connection)
        machine = type("Machine", (QueueMachine,), {"connection": connection})
        run_state_machine_as_test(
            seed(SEED)(machine),
            settings=settings(
                max_examples=examples,
                stateful_step_count=STEPS,
                deadline=None,
                database=None,
                phases=[Phase.generate, Phase.shrink],
                suppress_health_check=list(HealthCheck),
                print_blob=False,
            ),
        )
