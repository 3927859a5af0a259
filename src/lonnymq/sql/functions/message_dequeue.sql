-- Leases up to p_limit messages, channel by channel in turn, under every limit.
--
-- The ring of channels that have something due is walked from p_cursor, which is handed back with
-- every row: {seat of the last visit, where this lap ends, messages already taken in a turn that was
-- cut short}, and after an empty answer a fourth number (dequeue_nothing). Hand in that of the last
-- row. A lap ends with those who sat down during it, up to the moment when the walk came to the first
-- of them (from then on the second number is negative); who leaves and sits down again after its
-- visit is behind that end, so nobody is visited twice in a lap. A caller without one starts anywhere. Each visit is worth the channel's weight; where the
-- limit is more than one round gives, several rounds are taken at once.
--
-- Answers: one row a message, answer leased. When there is none, exactly one row: empty, or contended
--   where another call holds what is eligible, or this one has just found out about more: try again at
--   once. look_at says when to look again
--   if nobody notifies (null: nothing is scheduled, and no lease was taken that might still run out).
-- Locks: channels that have limits, and messages, without ever waiting for one. The commit of this
--   transaction is not waited for: a lease that a crash loses is one more delivery.
-- Notifies: no.
create or replace function lonnymq.message_dequeue(
  p_limit integer default 1,
  p_lease_ms bigint default 30000,
  p_worker text default null,
  p_cursor bigint[] default null
)
returns table (
  answer text, id bigint, token uuid, channel text, content bytea, state bytea, attempt integer,
  kind text, headers jsonb, name text, created_at bigint, dequeue_at bigint, dequeued_at bigint,
  lease_until bigint, look_at bigint, cursor bigint[]
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint;
  v_is_folder boolean;
  v_is_contended boolean := false;
  v_left integer := p_limit;
  v_visits integer := 0;
  v_seat bigint := p_cursor[1];
  v_lap bigint := abs(greatest(p_cursor[2], -9223372036854775807));
  v_is_tail boolean := coalesce(p_cursor[2] < 0, false);
  v_used bigint := greatest(p_cursor[3], 0);
  v_tick lonnymq.tick;
  v_is_late boolean;
  v_is_told boolean;
  v_is_limited boolean;
  v_folded text;
  v_seat_last bigint;
  v_from bigint;
  v_first_seat bigint;
  v_started timestamptz;
  v_place record;
  v_channel record;
  v_first record;
  v_message lonnymq.message;
begin
  if p_limit is null or p_limit not between 1 and 10000
    or p_lease_ms is null or p_lease_ms not between 1 and 2592000000
    or octet_length(p_worker) > 255 or cardinality(p_cursor) not between 3 and 4
  then
    perform lonnymq.guard_range('limit', p_limit, 1, 10000);
    perform lonnymq.guard_range('lease_ms', p_lease_ms, 1, 2592000000);
    perform lonnymq.guard_range('bytes of the worker', octet_length(coalesce(p_worker, '')), 0, 255);
    perform lonnymq.guard_range('numbers in the cursor', cardinality(coalesce(p_cursor, '{0,0,0}')), 3,
      4);
  end if;
  if pg_current_xact_id_if_assigned() is not null
    or current_setting('transaction_isolation') <> 'read committed'
  then
    perform lonnymq.guard_own_transaction('message_dequeue');
  end if;
  v_is_folder := lonnymq.commit_relaxed();

  v_now := lonnymq.epoch();
  v_is_folder := lonnymq.fold_lock();
  select * into v_tick from lonnymq.tick t order by t.id desc limit 1;
  if not v_is_folder then
    -- A setting that is committed holds for every dequeue that begins after it: while one is not
    -- folded yet, only the folder goes on.
    perform from lonnymq.note n where n.look limit 1;
    if found then
      v_left := 0;
    end if;
  else
    v_is_late := (v_now between v_tick.swept_at and v_tick.swept_at + 999) is not true;
    if not v_is_late and v_tick.folded_at < clock_timestamp() - interval '20 milliseconds' then
      v_is_late := exists (
          select from lonnymq.note n where n.quiet and n.xid >= v_tick.until
        ) or exists (
          select from lonnymq.note n where n.quiet and n.xid = any (v_tick.again)
        );
    end if;
    v_is_late := v_is_late or exists (
        select from lonnymq.note n where not n.quiet and n.xid = any (v_tick.again)
      ) or exists (
        select from lonnymq.lease l where l.due_at > v_tick.swept_at - 100 and l.due_at <= v_now
      ) or exists (
        select from lonnymq.place p where p.wake_at > v_tick.swept_at - 100 and p.wake_at <= v_now
      );
    v_is_told := v_is_late or exists (
      select from lonnymq.note n where not n.quiet and n.xid >= v_tick.until);
    if v_is_told and not v_is_late and p_limit = 1 then
      v_message := lonnymq.note_take(v_now, p_lease_ms, p_worker, v_tick);
      if v_message.id is not null then
        return query select 'leased', v_message.id, v_message.token, v_message.channel,
          v_message.content, v_message.state, v_message.attempt, v_message.kind, v_message.headers,
          v_message.name, v_message.created_at, v_message.dequeue_at, v_message.dequeued_at,
          v_message.lease_until, null::bigint,
          coalesce(p_cursor[1:3], array[v_tick.seat_floor, v_tick.seat_floor, 0]);
        return;
      end if;
    end if;
    if v_is_told then
      -- All that was told before takes part in the turns, up to 20,000 notes.
      for v_round in 1 .. 10 loop
        v_folded := lonnymq.queue_fold(v_now);
        exit when v_folded <> 'more';
      end loop;
      v_is_contended := v_folded <> 'done';
      select * into v_tick from lonnymq.tick t order by t.id desc limit 1;
    end if;
  end if;

  -- Leases are dated after what was folded: what they were waiting for has happened by then.
  v_now := lonnymq.epoch();
  v_tick.seat_floor := coalesce(v_tick.seat_floor, 0);
  select n.last_value into v_seat_last from lonnymq.seat_seq n;
  if v_seat is null or v_lap is null or v_seat not between 0 and v_seat_last then
    v_seat := v_tick.seat_floor - 1 + floor(random() * (v_seat_last - v_tick.seat_floor + 1));
    v_lap := v_seat_last;
    v_is_tail := false;
    v_used := 0;
  elsif v_seat < v_tick.seat_floor - 1 then
    -- Those between have left the ring: who was away for long does not walk past what is left of them.
    v_seat := v_tick.seat_floor - 1;
    v_used := 0;
  end if;

  -- One message, of channels without limits: the same walk, a visit at a time and without a single
  -- array. Where it comes to a limit, or has seen enough that is empty, ring_lease has its say.
  v_is_limited := p_limit > 1 or exists (
    select from lonnymq.queue q where q.only_row and q.max_concurrency is not null);
  while v_left = 1 and not v_is_limited and v_visits < 16 loop
    v_from := v_seat - case when v_used > 0 then 1 else 0 end;
    select p.seat, p.channel_id, p.floor_at, p.floor_id into v_place from lonnymq.place p
    where p.seat > v_from and p.seat <= v_lap order by p.seat limit 1;
    if not found and not v_is_tail and v_lap < v_seat_last then
      select p.seat, p.channel_id, p.floor_at, p.floor_id into v_place from lonnymq.place p
      where p.seat > greatest(v_lap, v_from) and p.seat <= v_seat_last order by p.seat limit 1;
    end if;
    if not found then
      select p.seat, p.channel_id, p.floor_at, p.floor_id into v_place from lonnymq.place p
      where p.seat <= v_from and p.seat >= v_tick.seat_floor order by p.seat limit 1;
    end if;
    if not found and v_is_tail then
      -- Only channels that sat down after this lap had come to its end.
      v_is_tail := false;
      v_used := 0;
      continue;
    end if;
    exit when not found or v_place.seat = v_first_seat;
    v_started := clock_timestamp();
    select c.name, c.weight into v_channel from lonnymq.channel c
    where c.id = v_place.channel_id and c.max_concurrency is null and c.release_interval_ms is null;
    exit when not found;
    select m.ctid as tid, m.id, m.dequeue_at into v_first
    from lonnymq.message m
    where m.channel = v_channel.name
      and (m.dequeue_at, m.id) >= (v_place.floor_at, v_place.floor_id)
      and m.dequeue_at <= v_now and m.token is null
    order by m.dequeue_at, m.id
    limit 1
    for update skip locked;
    v_left := case when found then 0 else 1 end;

    v_visits := v_visits + 1;
    v_first_seat := coalesce(v_first_seat, v_place.seat);
    v_used := case when v_place.seat = v_from + 1 and v_used < v_channel.weight then v_used else 0 end
      + 1;
    if v_left = 1 or v_used >= v_channel.weight then
      v_used := 0;
    end if;
    if v_place.seat > v_lap then
      v_is_tail := true;
      v_lap := v_seat_last;
    elsif v_place.seat <= v_from then
      v_lap := case when v_is_tail then v_lap else v_seat_last end;
      v_is_tail := false;
    end if;
    v_seat := v_place.seat;

    if v_left = 0 then
      answer := 'leased';
      cursor := array[v_seat, case when v_is_tail then -v_lap else v_lap end, v_used];
      update lonnymq.message m
      set token = gen_random_uuid(), lease_until = v_now + p_lease_ms, dequeued_at = v_now,
        attempt = m.attempt + 1, worker = p_worker
      where m.ctid = v_first.tid
      returning m.id, m.token, m.channel, m.content, m.state, m.attempt, m.kind, m.headers, m.name,
        m.created_at, m.dequeue_at, m.dequeued_at, m.lease_until
      into id, token, channel, content, state, attempt, kind, headers, name,
        created_at, dequeue_at, dequeued_at, lease_until;
      return next;
      insert into lonnymq.lease (due_at, message_ids) values (v_now + p_lease_ms, array[v_first.id]);
    end if;
    -- An empty channel is taken out of the ring at once: it would cost the next one a visit.
    if v_is_folder and (v_left = 1 or random() < 0.01
      or clock_timestamp() - v_started > interval '1 millisecond' or not exists (
        select from lonnymq.message m
        where m.channel = v_channel.name and (m.dequeue_at, m.id) > (v_first.dequeue_at, v_first.id)
          and m.dequeue_at <= v_now))
    then
      perform lonnymq.channel_review(array[v_place.channel_id], v_now);
    end if;
  end loop;

  if v_left = 0 and v_visits > 0 then
    if v_is_folder and v_now - 1000 >= v_tick.swept_at then
      perform lonnymq.tick_touch(v_now);
    end if;
    return;
  end if;
  return query select * from lonnymq.ring_lease(v_left, p_lease_ms, p_worker, v_now, v_seat, v_lap,
    v_is_tail, v_used, v_visits, v_seat_last, v_tick.seat_floor, v_is_folder, v_is_contended, v_tick,
    p_cursor[4]);
end
$$;

comment on function lonnymq.message_dequeue(integer, bigint, text, bigint[]) is
'Leases messages, channel by channel in turn, under every limit.';
