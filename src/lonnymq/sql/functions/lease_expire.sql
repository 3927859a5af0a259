-- Takes back leases that have run out: their messages go back into their channel's line where they
-- were, or are dead if that was the last attempt. Looks at leases that were to end after p_from, of no
-- more than p_limit dequeues.
--
-- Answers: how many went back, how many died, and whether there are more to look at.
-- Locks: the messages, without ever waiting for one: what is being settled at this moment is left
--   to its settler and looked at again in a second.
create or replace function lonnymq.lease_expire(
  p_from bigint, p_now bigint, p_limit integer,
  out expired bigint, out died bigint, out is_more boolean
)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_tids tid[];
  v_ids bigint[];
  v_due bigint[];
  v_died boolean[];
  v_next_ats bigint[];
begin
  expired := 0;
  died := 0;
  is_more := false;
  perform from lonnymq.lease l where l.due_at > p_from and l.due_at <= p_now limit 1;
  if not found then
    return;
  end if;

  with due as materialized (
    select l.ctid as tid, l.message_ids
    from lonnymq.lease l
    where l.due_at > p_from and l.due_at <= p_now
    order by l.due_at
    limit p_limit
    for update skip locked
  )
  select (select array_agg(d.tid) from due d), array_agg(distinct i.id) into v_tids, v_ids
  from due d cross join lateral unnest(d.message_ids) as i (id);
  is_more := coalesce(cardinality(v_tids) >= p_limit, false);
  delete from lonnymq.lease l where l.ctid = any (v_tids);
  if v_ids is null then
    return;
  end if;

  with held as materialized (
    select m.id, m.attempt, m.dequeue_at, m.channel
    from lonnymq.message m
    where m.id = any (v_ids) and m.token is not null and m.lease_until <= p_now
    order by m.id
    for update skip locked
  )
  select array_agg(h.id),
    array_agg(h.attempt >= coalesce(c.max_attempts, q.default_max_attempts)),
    array_agg(h.dequeue_at)
  into v_due, v_died, v_next_ats
  from held h
  cross join lonnymq.queue q
  left join lateral (select * from lonnymq.channel c where c.name = h.channel limit 1) c on true
  where q.only_row;

  -- Extended by a heartbeat, leased anew, or being settled: look again.
  insert into lonnymq.lease (due_at, message_ids)
  select case when m.lease_until > p_now then m.lease_until else p_now + 1000 end, array_agg(m.id)
  from lonnymq.message m
  where m.id = any (v_ids) and m.token is not null and m.id <> all (coalesce(v_due, '{}'))
  group by 1;

  if v_due is null then
    return;
  end if;
  perform lonnymq.attempt_end(v_due, v_died, v_next_ats,
    array_fill('the lease ran out'::text, array[cardinality(v_due)]), 'expired', p_now);
  select count(*) filter (where not d), count(*) filter (where d) into expired, died
  from unnest(v_died) as d;
end
$$;

comment on function lonnymq.lease_expire(bigint, bigint, integer) is
'Takes back leases that have run out.';
