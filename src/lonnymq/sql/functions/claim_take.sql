-- Adds messages to a claim, and begins it with the first: leases up to p_limit of them, channel by
-- channel in turn, under every limit, as a dequeue does, and remembers which. One call is one part of the
-- claim. The commit is waited for: a claim outlives a crash.
--
-- The walk is that of message_dequeue, with its cursor, but many rounds are taken at once: each channel
-- gives so many times its weight that the limit is reached. p_channels (names) or p_pattern (a regular
-- expression for the whole name) let the walk visit those channels alone; their turns and their limits
-- are the same. Names cost what was named, a pattern costs a look at every channel that is in the ring.
-- p_last_id and p_last_at leave alone what was created, or became due, after a moment.
--
-- Answers: one row: claimed, with the claim's token, how many messages were added, and whether any of them
--   counts in a limit; else empty or contended, as a dequeue. look_at and cursor are those of a dequeue.
-- Locks: channels that have limits, and messages, without ever waiting for one; then the stream's key.
-- Notifies: no.
create or replace function lonnymq.claim_take(
  p_stream text,
  p_epoch bigint,
  p_seq bigint,
  p_limit integer,
  p_lease_ms bigint default 600000,
  p_timeout_ms bigint default null,
  p_cursor bigint[] default null,
  p_channels text[] default null,
  p_pattern text default null,
  p_last_id bigint default null,
  p_last_at bigint default null,
  out answer text,
  out token text,
  out messages integer,
  out is_limited boolean,
  out look_at bigint,
  out cursor bigint[]
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
  c_window constant integer := 2048;
  c_most_visits constant integer := 20000;
  v_now bigint := lonnymq.epoch();
  v_last_id bigint := coalesce(p_last_id, 9223372036854775807);
  v_until bigint;
  v_is_folder boolean;
  v_is_contended boolean := false;
  v_left integer := p_limit;
  v_visits integer := 0; -- since something was found
  v_seat bigint := p_cursor[1];
  v_lap bigint := abs(greatest(p_cursor[2], -9223372036854775807));
  v_is_tail boolean := coalesce(p_cursor[2] < 0, false);
  v_used bigint := greatest(p_cursor[3], 0);
  v_tick lonnymq.tick;
  v_folded text;
  v_seat_last bigint;
  v_max_concurrency integer;
  v_queue_bit integer := 0;
  v_window integer;
  v_rounds bigint;
  v_is_whole boolean;
  v_last integer;
  v_token text;
  v_ids bigint[] := array[]::bigint[];
  w_seats bigint[];
  w_ids bigint[];
  w_names text[];
  w_floor_ats bigint[];
  w_floor_ids bigint[];
  w_weights bigint[];
  w_quotas bigint[];
  w_bits integer[];
  w_limited bigint[];
  w_locked bigint[];
  t_tids tid[];
  t_ids bigint[];
  t_places integer[];
  t_taken bigint[];
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 10000);
  perform lonnymq.guard_range('lease_ms', p_lease_ms, 1, 2592000000);
  perform lonnymq.guard_range('timeout_ms', coalesce(p_timeout_ms, 1), 1, 3155760000000);
  perform lonnymq.guard_range('numbers in the cursor', cardinality(coalesce(p_cursor, '{0,0,0}')), 3,
    4);
  perform lonnymq.guard_own_transaction('claim_take');
  perform set_config('idle_in_transaction_session_timeout', '10s', true);
  perform from lonnymq.stream s where s.name = p_stream and s.epoch = p_epoch;
  if not found then
    perform lonnymq.stream_guard(p_stream, p_epoch);
  end if;
  select c.token into v_token from lonnymq.claim c where c.stream = p_stream and c.seq = p_seq;
  v_token := coalesce(v_token, left(replace(gen_random_uuid()::text, '-', ''), 16));
  messages := 0;
  is_limited := false;

  v_is_folder := lonnymq.fold_lock();
  if v_is_folder then
    for v_round in 1 .. 10 loop
      v_folded := lonnymq.queue_fold(v_now);
      exit when v_folded <> 'more';
    end loop;
    v_is_contended := v_folded <> 'done';
  elsif exists (select from lonnymq.note n where n.look)
    or exists (select from lonnymq.queue q where q.only_row and q.max_concurrency is not null)
  then
    -- A setting that is not folded yet, and the queue's own limit, are the folder's.
    v_left := 0;
  end if;
  select * into v_tick from lonnymq.tick t order by t.id desc limit 1;
  v_tick.seat_floor := coalesce(v_tick.seat_floor, 0);
  select n.last_value into v_seat_last from lonnymq.seat_seq n;
  if v_seat is null or v_lap is null or v_seat not between 0 and v_seat_last then
    v_seat := v_tick.seat_floor - 1 + floor(random() * (v_seat_last - v_tick.seat_floor + 1));
    v_lap := v_seat_last;
    v_is_tail := false;
    v_used := 0;
  elsif v_seat < v_tick.seat_floor - 1 then
    v_seat := v_tick.seat_floor - 1;
    v_used := 0;
  end if;
  select q.max_concurrency into v_max_concurrency from lonnymq.queue q where q.only_row;
  if v_max_concurrency is not null then
    v_queue_bit := 2;
    v_left := least(v_left, v_max_concurrency - coalesce((
      select m.in_flight from lonnymq.meter m
      where m.channel_id = 0 order by m.version desc limit 1
    ), 0));
  end if;

  -- Leases are dated after what was folded: what they were waiting for has happened by then.
  v_now := lonnymq.epoch();
  v_window := least(v_left, c_window);
  while v_left > 0 loop
    if v_used > 0 then
      -- A turn that was cut short goes on where it stopped.
      v_seat := v_seat - 1;
    end if;
    if p_channels is null then
      select array_agg(w.seat), array_agg(w.channel_id), array_agg(w.name), array_agg(w.floor_at),
        array_agg(w.floor_id), array_agg(w.weight),
        array_agg((w.max_concurrency is not null)::integer),
        array_agg(w.channel_id) filter (
          where w.max_concurrency is not null or w.release_interval_ms is not null)
      into w_seats, w_ids, w_names, w_floor_ats, w_floor_ids, w_weights, w_bits, w_limited
      from (
        select * from lonnymq.ring_walk(v_seat, v_lap, v_is_tail, v_seat_last, v_tick.seat_floor,
          case when p_pattern is null then v_window else 2147483647 end) w
        where p_pattern is null or w.name ~ ('^(?:' || p_pattern || ')$')
        limit v_window
      ) w;
    else
      select array_agg(w.seat), array_agg(w.channel_id), array_agg(w.name), array_agg(w.floor_at),
        array_agg(w.floor_id), array_agg(w.weight),
        array_agg((w.max_concurrency is not null)::integer),
        array_agg(w.channel_id) filter (
          where w.max_concurrency is not null or w.release_interval_ms is not null)
      into w_seats, w_ids, w_names, w_floor_ats, w_floor_ids, w_weights, w_bits, w_limited
      from (
        select * from lonnymq.ring_choose(p_channels, v_seat, v_lap, v_is_tail, v_seat_last,
          v_tick.seat_floor) w
        limit v_window
      ) w;
    end if;
    if w_seats is null and v_is_tail then
      -- Only channels that sat down after this lap had come to its end.
      v_is_tail := false;
      v_used := 0;
      continue;
    end if;
    exit when w_seats is null;

    v_visits := v_visits + cardinality(w_seats);
    v_is_whole := cardinality(w_seats) < v_window and not (v_is_tail and v_lap < v_seat_last);
    v_rounds := 1;
    if v_is_whole and v_left > cardinality(w_seats) then
      select greatest(1, v_left / sum(w)::bigint) into v_rounds from unnest(w_weights) as w;
    end if;
    if w_seats[1] <> v_seat + 1 or v_used >= w_weights[1] then
      v_used := 0;
    end if;
    w_quotas := array(select w * v_rounds from unnest(w_weights) as w);
    w_quotas[1] := w_quotas[1] - v_used;

    w_locked := null;
    if w_limited is not null then
      -- Lock first, look after.
      select array_agg(l.id) into w_locked
      from (
        select c.id from lonnymq.channel c where c.id = any (w_limited) order by c.id
        for update skip locked
      ) l;
      if cardinality(w_locked) is distinct from cardinality(w_limited) then
        v_is_contended := true;
      end if;
      v_now := lonnymq.epoch();
      select array_agg(case when w.id <> all (w_limited) then w.quota
          else least(w.quota, coalesce(a.allowed, 0)) end order by w.place),
        array_agg(coalesce(a.counts, w.counts) order by w.place)
      into w_quotas, w_bits
      from unnest(w_ids, w_quotas, w_bits) with ordinality as w (id, quota, counts, place)
      left join lonnymq.channel_allow(w_locked, v_now) a on a.id = w.id;
    end if;

    v_until := least(v_now, p_last_at);
    select array_agg(t.tid order by t.round, t.place, t.rank),
      array_agg(t.id order by t.round, t.place, t.rank),
      array_agg(t.place order by t.round, t.place, t.rank)
    into t_tids, t_ids, t_places
    from (
      select m.tid, m.id, w.place::integer as place, m.rank,
        (m.rank - 1 + case when w.place = 1 then v_used else 0 end) / w.weight as round
      from unnest(w_names, w_floor_ats, w_floor_ids, w_quotas, w_weights)
        with ordinality as w (name, floor_at, floor_id, quota, weight, place)
      cross join lateral (
        select m.tid, m.id, row_number() over () as rank
        from (
          select m.ctid as tid, m.id
          from lonnymq.message m
          where m.channel = w.name and (m.dequeue_at, m.id) >= (w.floor_at, w.floor_id)
            and m.dequeue_at <= v_until and m.id <= v_last_id and m.token is null
          order by m.dequeue_at, m.id
          limit w.quota
          for update skip locked
        ) m
      ) m
      limit v_left
    ) t;
    v_left := v_left - coalesce(cardinality(t_ids), 0);
    v_visits := case when t_ids is null then v_visits else 0 end;
    t_taken := array_fill(0::bigint, array[cardinality(w_seats)]);
    foreach v_last in array coalesce(t_places, '{}') loop
      t_taken[v_last] := t_taken[v_last] + 1;
    end loop;

    -- Where the walk stands: after the window, or in the middle of it if the limit was reached there.
    v_last := cardinality(w_seats);
    if v_left = 0 and v_rounds = 1 then
      v_last := t_places[cardinality(t_places)];
    end if;
    if w_seats[v_last] > v_lap then
      v_is_tail := true;
      v_lap := v_seat_last;
    elsif w_seats[v_last] <= v_seat then
      v_lap := case when v_is_tail then v_lap else v_seat_last end;
      v_is_tail := false;
    end if;
    v_used := case when v_left > 0 or v_rounds > 1 then 0
      else t_taken[v_last] + case when v_last = 1 then v_used else 0 end end;
    if v_used >= w_weights[v_last] then
      v_used := 0;
    end if;
    v_seat := w_seats[v_last];

    if t_tids is not null then
      update lonnymq.message m
      set token = (v_token || lpad(to_hex(m.id), 16, '0'))::uuid, lease_until = v_now + p_lease_ms,
        dequeued_at = v_now, attempt = m.attempt + 1, worker = p_stream,
        slot = v_queue_bit | w_bits[t.place]
      from unnest(t_tids, t_places) as t (tid, place)
      where m.ctid = t.tid;
      v_ids := v_ids || t_ids;
    end if;
    if w_locked is not null then
      is_limited := true;
      perform lonnymq.channel_charge(array_agg(w.id), array_agg(w.taken), v_now)
      from unnest(w_ids, t_taken) as w (id, taken)
      where w.id = any (w_locked);
    end if;
    if v_is_folder then
      -- What gave less than it was asked for may be empty; the others' floors move up now and then.
      select array_agg(w.id) into w_ids
      from unnest(w_ids, w_quotas, t_taken) with ordinality as w (id, quota, taken, place)
      where w.place <= v_last and (w.taken < w.quota or random() * 20 < w.taken);
      if w_ids is not null then
        perform lonnymq.channel_review(w_ids, v_now);
      end if;
    end if;

    exit when v_left = 0;
    exit when v_is_whole and not exists (
      select from unnest(w_quotas, t_taken) as w (quota, taken) where w.taken = w.quota and w.taken > 0);
    exit when v_visits >= c_most_visits;
    v_window := least(case when t_tids is null then v_window * 2 else v_left end, c_window);
  end loop;

  messages := cardinality(v_ids);
  cursor := array[v_seat, case when v_is_tail then -v_lap else v_lap end, v_used];
  if messages = 0 then
    select d.answer, d.look_at, d.cursor into answer, look_at, cursor
    from lonnymq.dequeue_nothing(v_is_contended or not v_is_folder or v_visits >= c_most_visits, v_now,
      v_visits > 0 and p_channels is null and p_pattern is null and p_last_at is null, cursor,
      p_cursor[4]) d;
    return;
  end if;

  answer := 'claimed';
  token := v_token;
  if v_queue_bit > 0 then
    is_limited := true;
    perform lonnymq.meter_add(0, messages, 0);
  end if;
  insert into lonnymq.lease (due_at, message_ids) values (v_now + p_lease_ms, v_ids);
  perform lonnymq.stream_guard(p_stream, p_epoch);
  insert into lonnymq.claim (stream, seq, made_at, timeout_at, token)
  values (p_stream, p_seq, v_now, v_now + p_timeout_ms, v_token)
  on conflict (stream, seq) do nothing;
  insert into lonnymq.claim_part (stream, seq, part, due_at, message_ids)
  values (p_stream, p_seq, coalesce((
    select p.part from lonnymq.claim_part p
    where p.stream = p_stream and p.seq = p_seq order by p.part desc limit 1
  ), 0) + 1, v_now + p_lease_ms, v_ids);
  if v_is_folder and v_now - 1000 >= v_tick.swept_at then
    perform lonnymq.tick_touch(v_now);
  end if;
end
$$;

comment on function lonnymq.claim_take(
  text, bigint, bigint, integer, bigint, bigint, bigint[], text[], text, bigint, bigint
) is
'Adds messages to a claim: leases them, channel by channel in turn, under every limit.';
