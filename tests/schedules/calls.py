"""The statements of the contract as SQL: sends each over a connection and returns its answer."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.types.json import Jsonb

from .statements import (
    Acknowledge,
    Cancel,
    Check,
    Claim,
    Create,
    Created,
    Dequeue,
    Leased,
    NewMessage,
    Nothing,
    Purge,
    Redrive,
    Renew,
    SetChannel,
    SetDefaults,
    SetQueue,
    Settle,
    Sweep,
    Violation,
    kind_of,
)

Connection = psycopg.Connection[Any]

CREATE = "select * from lonnymq.message_create(%s, %s, %s, %s, %s, %s, p_options => %s)"
CREATE_MANY = """
select answer, id, reason, size, max_size
from lonnymq.message_create_many(%s::text[], %s::bytea[], %s::bigint[], %s::bigint[], %s::text[],
  %s::text[], p_options => %s::jsonb[])
order by ordinal
"""
COPY = "copy lonnymq.message (channel, content, dequeue_at, kind) from stdin"
BURST = """
do $$
begin
  for v_number in 0..{last} loop
    perform lonnymq.message_create('{channel}', convert_to('{step}.' || v_number, 'UTF8'), p_delay_ms => {delay},
      p_kind => ('{{email,video}}'::text[])[({step} + v_number) % 3 + 1]);
    commit;
  end loop;
end
$$
"""
IDS = "select convert_from(content, 'UTF8'), id from lonnymq.message where channel = any (%s) and content = any (%s)"
DEQUEUE = """
select answer, convert_from(content, 'UTF8'), id, token::text, channel, dequeue_at, key, attempt, state, lease_until,
  retry_at, cursor
from lonnymq.message_dequeue(%s, %s, null, %s::bigint[], %s::text[])
"""
CLAIM = """
select answer, token, retry_at, cursor
from lonnymq.claim_take(%s, 1, %s, %s, %s, p_cursor => %s::bigint[], p_channels => %s::text[], p_last_id => %s,
  p_last_at => %s)
"""
CLAIMED = """
select convert_from(m.content, 'UTF8'), m.id, m.token::text, m.channel,
  lonnymq.message_due_at(m.dequeue_at, m.priority), m.key, m.attempt, m.state, m.lease_until
from (
  select p.* from lonnymq.claim_part p where p.stream = %s and p.seq = %s order by p.part desc limit 1
) p
cross join lateral unnest(p.message_ids) with ordinality as i (id, place)
left join lateral lonnymq.claim_read(p.stream, p.seq, %s, p.part, i.place::integer, i.place::integer) m on true
order by i.place
"""
DECIDE = "select lonnymq.claim_decide(%s::bigint[], %s::uuid[], %s::text[], %s::bigint[])"
MOST_PARTS = 100
OUTCOMES = ("completed", "deferred", "retrying", "dead")
LEFT = """
select convert_from(content, 'UTF8') from lonnymq.message where channel = %(channel)s
union all select convert_from(content, 'UTF8') from lonnymq.dead where channel = %(channel)s
"""
SETTLE = {
    "complete": "select id, answer, null from lonnymq.message_complete(%s::bigint[], %s::uuid[])",
    "heartbeat": "select id, answer, lease_until from lonnymq.message_heartbeat(%s::bigint[], %s::uuid[], %s)",
    "defer": "select id, answer, dequeue_at"
    " from lonnymq.message_defer(%s::bigint[], %s::uuid[], %s::bigint[], %s::bytea[])",
    "fail": "select id, answer, dequeue_at"
    " from lonnymq.message_fail(%s::bigint[], %s::uuid[], null, %s::bigint[], %s::boolean[])",
}

# Whether nobody else is at work, and the partition for days without one is small and held by nobody.
# The size comes last: to ask for the size of a table waits for who holds the table.
HISTORY_IS_FREE = """
select case when exists (
  select from pg_stat_activity a
  where a.datname = current_database() and a.pid <> pg_backend_pid() and a.state = 'active'
) or exists (
  select from pg_locks l
  where l.relation = 'lonnymq.history_other'::regclass and l.pid <> pg_backend_pid()
) then false else pg_relation_size('lonnymq.history_other') <= 2097152 end
"""
DAYS_MISSING = """
select array(
  select day from unnest(lonnymq.history_missing(lonnymq.epoch() / 86400000)) as m (day)
  where day <= lonnymq.epoch() / 86400000 + 1)
"""


def send(connection: Connection, statement: Any, run: Any) -> Any:
    """Run one statement and return its answer."""
    match statement:
        case Create(is_copy=True):
            return copy(connection, statement)
        case Create(is_burst=True):
            return burst(connection, statement)
        case Create():
            return create(connection, statement)
        case Dequeue():
            return dequeue(connection, statement, run)
        case Settle():
            return settle(connection, statement)
        case Cancel():
            ids = [id_ for _, id_ in statement.messages]
            rows = connection.execute(
                "select id, answer from lonnymq.message_cancel(%s::bigint[])", (ids,)
            ).fetchall()
            return {id_: (answer, None) for id_, answer in rows}
        case Purge():
            return purge(connection, statement)
        case Redrive():
            ids = [id_ for _, id_ in statement.messages]
            query = "select id, answer from lonnymq.dead_redrive(%s::bigint[])"
            return {id_: (answer, None) for id_, answer in connection.execute(query, (ids,))}
        case Claim():
            return claim(connection, statement, run)
        case Acknowledge():
            return acknowledge(connection, statement)
        case Renew():
            query = "select held, lost from lonnymq.claim_renew(%s, 1, %s)"
            counts = connection.execute(query, (statement.stream, statement.lease_ms)).fetchall()
            held = "select token::text from lonnymq.message where token = any (%s::uuid[])"
            tokens = [token for _, _, token in statement.leases]
            return counts, {token for (token,) in connection.execute(held, (tokens,))}
        case SetChannel(options={"paused": _} | {"retiring": _}):
            name = "retire" if "retiring" in statement.options else "pause"
            name = name if True in statement.options.values() else "resume"
            return word(connection, f"select lonnymq.channel_{name}(%s)", statement.channel)
        case SetDefaults():
            options = {f"default_{name}": value for name, value in statement.options.items()}
            return word(connection, "select lonnymq.queue_set(%s)", Jsonb(options))
        case SetChannel():
            return word(
                connection,
                "select lonnymq.channel_set(%s, %s)",
                statement.channel,
                Jsonb(statement.options),
            )
        case SetQueue():
            return word(
                connection,
                "select lonnymq.queue_set(%s)",
                Jsonb({"max_concurrency": statement.max_concurrency}),
            )
        case Sweep():
            with unit(connection):
                is_free = connection.execute(HISTORY_IS_FREE).fetchone() == (True,)
                connection.execute("select lonnymq.queue_maintain()")
                query = "select name from lonnymq.channel_setting"
                names = {name for [name] in connection.execute(query)}
                return names, is_free and connection.execute(DAYS_MISSING).fetchone()
        case Check():
            return connection.execute("select * from lonnymq.queue_check()").fetchall()
    raise AssertionError(statement)


def unit(connection: Connection) -> AbstractContextManager[Any]:
    """Several statements as one: in the transaction that is open, or in one of their own."""
    is_idle = connection.info.transaction_status == TransactionStatus.IDLE
    return connection.transaction() if is_idle else nullcontext()


def end(connection: Connection, how: str, _: Any) -> None:
    """Commit or roll back."""
    connection.execute(how.encode(), prepare=False)


def word(connection: Connection, query: str, *values: object) -> str:
    """The one word that a function answers."""
    row = connection.execute(query.encode(), values or None).fetchone()
    return str(row[0]) if row else ""


def create(connection: Connection, statement: Create) -> list[Created]:
    """One message by message_create, many by message_create_many."""
    rows = statement.rows
    if len(rows) == 1:
        [row] = rows
        values = (
            row.channel,
            row.tag.encode(),
            row.dequeue_at,
            row.delay_ms,
            row.key,
            kind_of(row.tag),
            encoded(row),
        )
        return [Created(*each) for each in connection.execute(CREATE, values).fetchall()]
    columns: list[list[Any]] = [
        [row.dequeue_at for row in rows],
        [row.delay_ms for row in rows],
        [row.key for row in rows],
        [kind_of(row.tag) for row in rows],
        [encoded(row) for row in rows],
    ]
    # What nobody asks for is left out: that is another way through message_create_many.
    given = [column if any(each is not None for each in column) else None for column in columns]
    names, contents = [row.channel for row in rows], [row.tag.encode() for row in rows]
    found = connection.execute(CREATE_MANY, (names, contents, *given)).fetchall()
    return [Created(*each) for each in found]


def encoded(row: NewMessage) -> Jsonb | None:
    """The options of a message, if there are any."""
    options: dict[str, Any] = dict(row.options)
    if row.unique_for_ms:
        options["unique_for_ms"] = row.unique_for_ms
    if row.when_duplicate:
        options["when_duplicate"] = row.when_duplicate
    return Jsonb(options) if options else None


def copy(connection: Connection, statement: Create) -> list[Created]:
    """COPY and message_announce, in the transaction that is open or in one of their own."""
    with connection.transaction():
        with connection.cursor().copy(COPY) as rows:
            for row in statement.rows:
                rows.write_row((row.channel, row.tag.encode(), row.dequeue_at, kind_of(row.tag)))
        channels = sorted({row.channel for row in statement.rows})
        connection.execute("select lonnymq.message_announce(%s)", (channels,))
        return stored(connection, statement)


def burst(connection: Connection, statement: Create) -> list[Created]:
    """Single creates in transactions of their own, by one call; what is not there afterwards was not let in."""
    first = statement.rows[0]
    step, _ = first.tag.split(".")
    places = {
        "last": len(statement.rows) - 1,
        "channel": first.channel,
        "step": step,
        "delay": first.delay_ms or 0,
    }
    connection.execute(BURST.format(**places).encode(), prepare=False)
    query = "select when_full from lonnymq.channel_policy(%s) where not retiring"
    full = word(connection, query, first.channel)
    answers = stored(connection, statement)
    return [
        each if each.id else Created("dropped" if full == "drop" else "rejected", None)
        for each in answers
    ]


def stored(connection: Connection, statement: Create) -> list[Created]:
    """The ids of messages that this transaction has stored."""
    rows = statement.rows
    values = sorted({row.channel for row in rows}), [row.tag.encode() for row in rows]
    ids = dict(connection.execute(IDS, values).fetchall())
    return [Created("created", ids.get(row.tag)) for row in rows]


def dequeue(connection: Connection, statement: Dequeue, run: Any) -> list[Leased] | Nothing:
    """Dequeue, and keep the cursor for the session's next one."""
    kinds = None if statement.kinds is None else list(statement.kinds)
    rows = connection.execute(
        DEQUEUE, (statement.limit, statement.lease_ms, statement.cursor, kinds)
    ).fetchall()
    session = next(name for name, each in run.stage.sessions.items() if each is connection)
    run.cursors[session, statement.kinds] = rows[-1][-1]
    if len(rows) == 1 and rows[0][0] != "leased":
        return Nothing(rows[0][0], rows[0][10])
    return [Leased(*row[1:10]) for row in rows]


def settle(connection: Connection, statement: Settle) -> dict[int, tuple[str, int | None]]:
    """Settle one lease or many."""
    count = len(statement.leases)
    ids, tokens = (
        [id_ for _, id_, _ in statement.leases],
        [token for _, _, token in statement.leases],
    )
    if statement.how == "complete" and count == 1:
        return {
            ids[0]: (
                word(
                    connection, "select lonnymq.message_complete(%s, %s::uuid)", ids[0], tokens[0]
                ),
                None,
            )
        }
    more: dict[str, tuple[object, ...]] = {
        "complete": (),
        "heartbeat": (statement.delay_ms,),
        "defer": ([statement.delay_ms] * count, [statement.state] * count),
        "fail": ([statement.delay_ms] * count, [statement.dead] * count),
    }
    rows = connection.execute(SETTLE[statement.how], (ids, tokens, *more[statement.how])).fetchall()
    return {id_: (answer, at) for id_, answer, at in rows}


def purge(connection: Connection, statement: Purge) -> tuple[int, set[str]]:
    """Purge a channel and look what is left of it, dead ones included."""
    with unit(connection):
        values = statement.channel, statement.limit
        count = int(word(connection, "select lonnymq.message_purge(%s, %s)", *values))
        return count, {tag for [tag] in connection.execute(LEFT, {"channel": statement.channel})}


# ---- claims


def claim(connection: Connection, statement: Claim, run: Any) -> list[Leased] | Nothing:
    """Take a part of a claim, and read its messages."""
    values = statement.stream, statement.seq, statement.limit, statement.lease_ms
    channels = list(statement.channels) if statement.channels else None
    more = statement.cursor, channels, statement.last_id, statement.last_at
    with connection.transaction():
        [row] = connection.execute(CLAIM, (*values, *more)).fetchall()
        answer, token, retry_at, cursor = row
        run.cursors[statement.stream] = cursor
        if answer != "claimed":
            return Nothing(answer, retry_at)
        run.claim_tokens[statement.stream, statement.seq] = token
        rows = connection.execute(CLAIMED, (statement.stream, statement.seq, token)).fetchall()
        return [Leased(*row) for row in rows]


def acknowledge(
    connection: Connection, statement: Acknowledge
) -> tuple[Counter[str], dict[int, Any]]:
    """Settle a whole claim; how many of each outcome were counted, and what is stored of each message."""
    counts: Counter[str] = Counter()
    ids = [id_ for _, id_, _ in statement.leases]
    values = statement.stream, statement.seq
    with connection.transaction():
        if statement.how == "release":
            connection.execute("select lonnymq.claim_release(%s, 1, %s)", values)
        else:
            others = [
                (id_, token, outcome)
                for (_, id_, token), outcome in zip(
                    statement.leases, statement.outcomes, strict=True
                )
                if outcome != "complete"
            ]
            if others:
                connection.execute(
                    DECIDE, (*map(list, zip(*others, strict=True)), [100] * len(others))
                )
            query = "select * from lonnymq.claim_acknowledge(%s, 1, %s, %s)"
            for _ in range(MOST_PARTS):
                [row] = connection.execute(query, (*values, statement.token)).fetchall()
                *numbers, _, is_more = row
                counts.update(dict(zip(OUTCOMES, numbers, strict=True)))
                if not is_more:
                    break
            else:
                raise Violation("claim", f"there are more parts after {MOST_PARTS}")
        stored: dict[int, Any] = dict.fromkeys(ids, "gone")
        dead = "select id from lonnymq.dead where id = any (%s)"
        stored |= {id_: "dead" for [id_] in connection.execute(dead, (ids,))}
        live = (
            "select id, token::text, lonnymq.message_due_at(dequeue_at, priority), attempt"
            " from lonnymq.message where id = any (%s)"
        )
        stored |= {id_: tuple(rest) for id_, *rest in connection.execute(live, (ids,))}
    return counts, stored


# ---- interruptions


def interrupts(connection: Connection, how: str) -> bool:
    """A timeout is set for a statement of its own only; in a transaction the setting would be part of it."""
    return how == "cancel" or connection.info.transaction_status == TransactionStatus.IDLE


def interrupted(
    threads: ThreadPoolExecutor,
    control: Connection,
    connection: Connection,
    statement: Any,
    run: Any,
    how: str,
) -> Future[Any]:
    """Run a statement that is cancelled by another connection, or times out; it may be quicker than that."""
    if how == "timeout":
        connection.execute("set statement_timeout = '1ms'", prepare=False)
    future = threads.submit(send, connection, statement, run)
    if how == "cancel":
        time.sleep(0.0003)
        control.execute("select pg_cancel_backend(%s)", (connection.info.backend_pid,))
    future.exception(timeout=30)
    for _ in range(3):  # a cancel that came late must not meet the next statement
        with suppress(psycopg.errors.QueryCanceled, psycopg.errors.InFailedSqlTransaction):
            connection.execute(
                "" if how == "cancel" else "set statement_timeout = '30s'", prepare=False
            )
    return future


def describe(answer: Any) -> str:
    """An answer in a line."""
    if isinstance(answer, list) and answer and isinstance(answer[0], Leased):
        return f"leased {len(answer)}: " + ", ".join(
            f"{row.tag}({row.channel})" for row in answer[:20]
        )
    if isinstance(answer, list) and answer and isinstance(answer[0], Created):
        words = [
            f"{each.answer} {each.id or ''} {'' if each.size is None else f'size {each.size}'}".strip()
            for each in answer
        ]
        return f"{len(answer)}: " + ", ".join(words[:10])
    return str(answer)[:300]
