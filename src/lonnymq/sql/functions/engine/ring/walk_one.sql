-- Leases one message of the next channels of the ring: the walk of walk_lease, a visit at a time and without a
-- single array, which is what most calls need. Channels that turn out to be empty are passed, up to 16.
-- Answers: the message as message_dequeue does; no row where there is more to it: a limit that is reached, or a gap in
--   front of the next message.
-- Locks: the counter of a channel with limits, and the message, without waiting.
create or replace function lonnymq.walk_one(
  p_walk lonnymq.walk, p_lease_ms bigint, p_worker text
)
returns setof lonnymq.dequeued
language plpgsql
as $$
declare
  v_started timestamptz := clock_timestamp();
  v_first bigint;
  v_from bigint;
  v_next record;
  v_counted record;
begin
  loop
    v_from := p_walk.seat - case when p_walk.used > 0 then 1 else 0 end;
    select w.*, m.tid, m.id, m.dequeue_at into v_next
    from lonnymq.ring_seats(v_from, p_walk.lap, p_walk.seat_last, p_walk.seat_floor, 1, p_walk.pending) w
    left join lateral (
      select m.ctid as tid, m.id, m.dequeue_at from lonnymq.message m
      -- Asked in here: a message that is not taken must not be locked, or others would pass it over.
      where not w.is_limited and not w.paused
        and m.channel = w.name and (m.dequeue_at, m.id) >= (w.floor_at, w.floor_id)
        and (m.dequeue_at, m.id) <= (coalesce(w.gap_at, 9223372036854775807),
          coalesce(w.gap_id, 9223372036854775807))
        and m.dequeue_at <= p_walk.now_at and m.token is null
        and (m.expires_at > p_walk.now_at) is not false
      order by m.dequeue_at, m.id limit 1
      for update skip locked
    ) m on true;
    if not found and p_walk.lap < 0 then
      -- Only channels that sat down after this lap had come to its end.
      p_walk.lap := -p_walk.lap;
      p_walk.used := 0;
      continue;
    end if;
    if not p_walk.is_folder then
      p_walk := lonnymq.walk_look_again(p_walk);
      exit when not p_walk.is_same;
    end if;
    p_walk.visits := p_walk.visits + 1;
    exit when v_next.seat is null or v_next.paused or v_next.seat = v_first
      or p_walk.visits > 16 or (v_next.id is null and v_next.gap_at is not null);
    if v_next.is_limited then
      exit when v_next.gap_at is not null;
      select * into v_counted from lonnymq.walk_one_counted(p_walk.now_at, v_next.channel_id, v_next.name,
        v_next.floor_at, v_next.floor_id, v_next.limits);
      exit when not found;
      v_next.tid := v_counted.tid;
      v_next.id := v_counted.id;
      v_next.dequeue_at := v_counted.dequeue_at;
      v_next.bits := v_next.bits | case when v_counted.slots - 1
        <= greatest(63, (v_next.limits).max_concurrency / 2) then 8 else 0 end;
    end if;
    v_first := coalesce(v_first, v_next.seat);
    p_walk.used := case when v_next.id is null then 0 else 1 end + case
      when v_next.seat = v_from + 1 and p_walk.used < v_next.weight then p_walk.used else 0 end;
    if v_next.id is null or p_walk.used >= v_next.weight then
      p_walk.used := 0;
    end if;
    p_walk.lap := lonnymq.walk_lap(p_walk.lap, v_from, v_next.seat, p_walk.seat_last);
    p_walk.seat := v_next.seat;
    if v_next.id is not null then
      -- Leases are dated after the settings were read by which they are taken.
      p_walk.now_at := lonnymq.epoch();
      return query
      update lonnymq.message m
      set token = gen_random_uuid(), lease_until = p_walk.now_at + p_lease_ms,
        dequeued_at = p_walk.now_at, attempt = m.attempt + 1, worker = p_worker,
        slot = v_next.bits | case when p_walk.has_limit then 2 else 0 end
      where m.ctid = v_next.tid
      returning 'leased', m.id, m.token, m.channel, m.content, m.state, m.attempt, m.kind, m.headers,
        m.key, m.created_at, lonnymq.message_due_at(m.dequeue_at, m.priority), m.dequeued_at, m.lease_until, null::bigint,
        array[p_walk.seat, p_walk.lap, p_walk.used];
      insert into lonnymq.change (channel, can_wait, lease_until, message_ids)
      values ('', p_lease_ms >= 1000, p_walk.now_at + p_lease_ms, array[v_next.id]);
      if v_next.is_limited then
        perform lonnymq.channel_count_lease(v_next.channel_id, v_next.limits, v_counted.counter,
          v_counted.in_flight, v_counted.tat, p_walk.now_at, p_walk.is_folder);
      end if;
      if p_walk.has_limit then
        perform lonnymq.queue_count_leases(p_walk, 1);
      end if;
    end if;
    -- An empty channel is taken out of the ring at once: it would cost the next one a visit.
    if p_walk.is_folder and (v_next.id is null or random() < 0.01
      or clock_timestamp() - v_started > interval '1 millisecond' or not exists (
        select from lonnymq.message m
        where m.channel = v_next.name and (m.dequeue_at, m.id) > (v_next.dequeue_at, v_next.id)
          and m.dequeue_at <= p_walk.now_at))
    then
      perform lonnymq.channel_advance_floor(array[v_next.channel_id], p_walk.now_at);
    end if;
    exit when v_next.id is not null;
  end loop;
end
$$;

comment on function lonnymq.walk_one(lonnymq.walk, bigint, text) is
'Leases a message of the next channels of the ring.';
