-- Finds leases that have run out: checks up to p_check messages of leases that should have ended after p_from, and
-- answers up to p_most messages whose leases have run out. If there are more, the others are kept in rows of 100, and
-- every call answers the rows with the first messages. So messages return in the order in which they wait, and a
-- dequeue does not pass messages that are still leased. Messages with a priority whose time has come are looked up like
-- leases that end then, and are moved up (message_promote).
--
-- Answers: the messages, in order, or null.
-- Locks: rows of lease, without waiting.
create or replace function lonnymq.lease_late(
  p_from bigint, p_now bigint, p_check integer, p_most integer
)
returns bigint[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_tids tid[];
  v_ids bigint[];
  v_rest bigint[];
  v_late bigint[];
  v_ready bigint[];
  v_due_at bigint;
begin
  select array_agg(l.tid), min(l.due_at) into v_tids, v_due_at
  from (
    -- The size of an array is known without reading the array.
    select l.*, sum(l.size) over (order by l.due_at, l.tid) - l.size as before
    from (
      select l.ctid as tid, l.due_at, pg_column_size(l.message_ids) / 8 as size
      from lonnymq.lease l
      where l.first_id is null and l.due_at > p_from and l.due_at <= p_now
      order by l.due_at
      limit 1000
      for update skip locked
    ) l
  ) l
  where l.before < p_check;
  if v_tids is not null then
    with looked as materialized (
      delete from lonnymq.lease l where l.ctid = any (v_tids) returning l.message_ids
    )
    select array_agg(i.id) filter (where i.place <= p_check),
      array_agg(i.id) filter (where i.place > p_check)
    into v_ids, v_rest
    from (
      select i.id, row_number() over () as place
      from looked l cross join lateral unnest(l.message_ids) as i (id)
    ) i;
    insert into lonnymq.lease (due_at, message_ids)
    select v_due_at, array_agg(i.id)
    from unnest(v_rest) with ordinality as i (id, place) group by i.place / p_check;
    -- Extended by a heartbeat, leased anew, or not yet due: look again then. Those that wait have a priority.
    with held as materialized (
      select m.id, m.token is null as is_waiting, coalesce(m.lease_until, m.dequeue_at) as until
      from lonnymq.message m
      where m.id = any (v_ids)
        and (m.token is not null or (m.priority > 0 and m.dequeue_at > -5000000000000))
    ), extended as (
      insert into lonnymq.lease (due_at, message_ids)
      select h.until, array_agg(h.id) from held h where h.until > p_now
      group by h.until
    )
    select array_agg(h.id order by h.id) filter (where not h.is_waiting),
      array_agg(h.id) filter (where h.is_waiting)
    into v_late, v_ready
    from held h where h.until <= p_now;
    if v_ready is not null then
      perform lonnymq.message_promote(v_ready, p_now);
    end if;
  end if;

  if coalesce(cardinality(v_late), 0) <= p_most
    and not exists (select from lonnymq.lease l where l.first_id > 0 and l.due_at <= p_now)
  then
    return v_late;
  end if;
  insert into lonnymq.lease (due_at, message_ids, first_id)
  select v_due_at, array_agg(i.id), min(i.id)
  from unnest(v_late) with ordinality as i (id, place) group by (i.place - 1) / 100;
  with looked as (
    delete from lonnymq.lease l
    where l.ctid = any (array(
      select l.ctid from lonnymq.lease l where l.first_id > 0 and l.due_at <= p_now
      order by l.first_id limit p_most / 100
      for update skip locked
    ))
    returning l.message_ids
  )
  select array_agg(i.id order by i.id) into v_late
  from looked l cross join lateral unnest(l.message_ids) as i (id);
  return v_late;
end
$$;

comment on function lonnymq.lease_late(bigint, bigint, integer, integer) is
'Finds leases that have run out, the first messages first.';
