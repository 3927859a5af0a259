-- Leases a message directly from its change, if the ring is empty and every change that must be folded
-- describes a single message of a channel of its own. The channel is idle and has no limits, and never
-- gets a seat. The caller holds the fold lock, and nothing but such changes must be folded.
--
-- Answers: the message as message_dequeue does, or no row if a fold is needed.
-- Locks: the message, without waiting.
create or replace function lonnymq.message_lease_direct(
  p_walk lonnymq.walk, p_lease_ms bigint, p_worker text
)
returns setof lonnymq.dequeued
language plpgsql
as $$
declare
  v_change record;
  v_message lonnymq.message;
begin
  -- Now and then a fold has to come, for the next ones to begin after the changes that are gone.
  if p_walk.has_limit
    or pg_snapshot_xmax(pg_current_snapshot())::text::bigint - p_walk.until_xid::text::bigint >= 200
    or exists (select from lonnymq.channel_position p where p.seat >= p_walk.seat_floor)
  then
    return;
  end if;
  -- No count (distinct …) here: it would sort what the others see.
  select count(*) as many, bool_and(n.added + n.size = 1 and n.dequeue_at <= p_walk.now_at) as is_plain,
    (array_agg(n.tid))[1] as tid, array_agg(n.channel) as channels,
    (array_agg(n.message_id))[1] as message_id, bool_or(n.notified) as notified
  into v_change
  from (
    select n.ctid as tid, n.channel, n.message_id, n.added, n.size, n.dequeue_at, n.notified
    from lonnymq.change n
    where not n.can_wait and n.xid >= p_walk.until_xid
    order by n.xid, random() limit 9
  ) n;
  if v_change.many not between 1 and 8 or v_change.is_plain is not true or (v_change.many > 1 and v_change.many
    > (select count(distinct c.name) from unnest(v_change.channels) as c (name)))
  then
    return;
  end if;
  perform
  from lonnymq.channel c
  cross join lateral (
    select p.seat, p.hold from lonnymq.channel_position p where p.channel_id = c.id order by p.version desc limit 1
  ) p
  where c.name = v_change.channels[1] and c.max_concurrency is null and c.min_interval_ms is null
    and c.max_size is null and p.seat is null and p.hold is null
    and (select s.name from lonnymq.channel_setting s where s.name = c.name and (
      s.max_concurrency is not null or s.min_interval_ms is not null or s.max_size is not null
      or s.paused)) is null;
  if not found then
    return;
  end if;
  update lonnymq.message m
  set token = gen_random_uuid(), lease_until = p_walk.now_at + p_lease_ms, dequeued_at = p_walk.now_at,
    attempt = m.attempt + 1, worker = p_worker
  where m.ctid = (
    select m.ctid from lonnymq.message m
    where m.id = v_change.message_id and m.token is null and m.dequeue_at <= p_walk.now_at
      and (m.expires_at > p_walk.now_at) is not false
    for update skip locked
  )
  returning m.* into v_message;
  if not found then
    return;
  end if;
  insert into lonnymq.change (channel, can_wait, lease_until, message_ids)
  values ('', p_lease_ms >= 1000, v_message.lease_until, array[v_message.id]);
  delete from lonnymq.change n where n.ctid = v_change.tid;
  if v_change.notified then
    perform lonnymq.checkpoint_notified();
  end if;
  return query select 'leased', v_message.id, v_message.token, v_message.channel, v_message.content,
    v_message.state, v_message.attempt, v_message.kind, v_message.headers, v_message.key,
    v_message.created_at, lonnymq.message_due_at(v_message.dequeue_at, v_message.priority), v_message.dequeued_at, v_message.lease_until,
    null::bigint, array[coalesce(p_walk.seat, p_walk.seat_floor),
      coalesce(p_walk.lap, p_walk.seat_floor), coalesce(p_walk.used, 0)];
end
$$;

comment on function lonnymq.message_lease_direct(lonnymq.walk, bigint, text) is
'Leases a message directly from its change.';
