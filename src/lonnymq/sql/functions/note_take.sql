-- Leases one message straight off the note that tells of it, where nobody is in the ring and every note
-- that is to be folded tells of one message of a channel of its own: then it is that message's turn, and
-- its channel, which is idle and has no limits, need not sit down for it and leave again.
-- Called by whoever holds the fold lock, in a dequeue.
--
-- Answers: the message; null where there is more to it, and folding has to tell.
-- Locks: the message, without waiting.
create or replace function lonnymq.note_take(
  p_now bigint, p_lease_ms bigint, p_worker text, p_tick lonnymq.tick
)
returns lonnymq.message
language plpgsql
as $$
declare
  v_note record;
  v_place record;
  v_tid tid;
  v_message lonnymq.message;
begin
  -- Now and then a fold has to come, for the next ones to begin after the notes that are gone.
  if pg_snapshot_xmax(pg_current_snapshot())::text::bigint - p_tick.until::text::bigint >= 200
    or exists (select from lonnymq.place p where p.seat >= p_tick.seat_floor)
    or exists (select from lonnymq.queue q where q.only_row and q.max_concurrency is not null)
  then
    return null;
  end if;
  -- No count (distinct …) here: it would sort what the others see.
  select count(*) as many, bool_and(n.single and n.dequeue_at <= p_now) as is_plain,
    (array_agg(n.tid))[1] as tid, array_agg(n.channel) as channels,
    (array_agg(n.message_id))[1] as message_id, bool_or(n.told) as told
  into v_note
  from (
    select n.ctid as tid, n.channel, n.message_id, n.single, n.dequeue_at, n.told
    from lonnymq.note n
    where not n.quiet and n.xid >= p_tick.until
    order by n.xid limit 9
  ) n;
  if v_note.many not between 1 and 8 or not v_note.is_plain or (v_note.many > 1 and v_note.many
    > (select count(distinct c.name) from unnest(v_note.channels) as c (name)))
  then
    return null;
  end if;
  select p.seat, p.hold into v_place
  from lonnymq.channel c
  cross join lateral (
    select p.seat, p.hold from lonnymq.place p where p.channel_id = c.id order by p.version desc limit 1
  ) p
  where c.name = v_note.channels[1] and c.max_concurrency is null and c.release_interval_ms is null
    and c.max_size is null;
  if not found or v_place.seat is not null or v_place.hold is not null then
    return null;
  end if;
  select m.ctid into v_tid from lonnymq.message m
  where m.id = v_note.message_id and m.token is null and m.dequeue_at <= p_now
  for update skip locked;
  if not found then
    return null;
  end if;

  update lonnymq.message m
  set token = gen_random_uuid(), lease_until = p_now + p_lease_ms, dequeued_at = p_now,
    attempt = m.attempt + 1, worker = p_worker
  where m.ctid = v_tid
  returning m.* into v_message;
  insert into lonnymq.lease (due_at, message_ids)
  values (p_now + p_lease_ms, array[v_message.id]);
  delete from lonnymq.note n where n.ctid = v_note.tid;
  if v_note.told and p_tick.told_at < clock_timestamp() - interval '2 milliseconds' then
    with old as (
      delete from lonnymq.tick t
      where t.id = (select n.id from lonnymq.tick n order by n.id desc limit 1)
      returning *
    )
    insert into lonnymq.tick (until, again, seat_floor, swept_at, folded_at, told_at)
    select o.until, o.again, o.seat_floor, o.swept_at, o.folded_at, clock_timestamp() from old o;
  end if;
  return v_message;
end
$$;

comment on function lonnymq.note_take(bigint, bigint, text, lonnymq.tick) is
'Leases one message straight off the note that tells of it.';
