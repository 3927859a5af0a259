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
  v_folded text;
  v_is_contended boolean := false;
  v_left integer := p_limit;
  v_queue_bit integer := 0;
  v_visits integer := 0;
  v_found integer := 0;
  v_window integer := least(p_limit, 256);
  v_seat bigint := p_cursor[1];
  v_lap bigint := abs(greatest(p_cursor[2], -9223372036854775807));
  v_is_tail boolean := coalesce(p_cursor[2] < 0, false);
  v_used bigint := greatest(p_cursor[3], 0);
  v_from bigint;
  v_until xid8;
  v_again xid8[];
  v_swept_at bigint;
  v_told_at timestamptz;
  v_is_late boolean;
  v_has_notes boolean;
  v_message lonnymq.message;
  v_is_fresh boolean;
  v_seat_floor bigint;
  v_seat_last bigint;
  v_max_concurrency integer;
  v_rounds bigint;
  v_is_whole boolean;
  v_is_slow boolean;
  v_started timestamptz;
  v_token text;
  v_last integer;
  v_first_seat bigint;
  v_place record;
  v_channel record;
  v_first record;
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
  select t.until, t.again, t.seat_floor, t.swept_at, t.told_at,
    t.folded_at > clock_timestamp() - interval '20 milliseconds'
  into v_until, v_again, v_seat_floor, v_swept_at, v_told_at, v_is_fresh
  from lonnymq.tick t order by t.id desc limit 1;
  select q.max_concurrency into v_max_concurrency from lonnymq.queue q where q.only_row;
  if not v_is_folder then
    -- A setting that is committed holds for every dequeue that begins after it: while one is not
    -- folded yet, only the folder goes on.
    perform from lonnymq.note n where n.look limit 1;
    if found then
      v_left := 0;
    end if;
  else
    v_is_late := (v_now between v_swept_at and v_swept_at + 999) is not true or exists (
        select from lonnymq.note n where n.xid = any (v_again) and not n.quiet
      ) or exists (
        select from lonnymq.lease l where l.due_at > v_swept_at - 100 and l.due_at <= v_now
      ) or exists (
        select from lonnymq.place p where p.wake_at > v_swept_at - 100 and p.wake_at <= v_now
      ) or not v_is_fresh and (exists (
        select from lonnymq.note n where n.xid >= v_until and n.quiet
      ) or exists (
        select from lonnymq.note n where n.xid = any (v_again)
      ));
    v_has_notes := v_is_late or exists (
      select from lonnymq.note n where n.xid >= v_until and not n.quiet);
    if v_has_notes and not v_is_late and p_limit = 1 and v_max_concurrency is null then
      v_message := lonnymq.note_take(v_now, p_lease_ms, p_worker, v_until, v_seat_floor, v_told_at);
      if v_message.id is not null then
        return query select 'leased', v_message.id, v_message.token, v_message.channel,
          v_message.content, v_message.state, v_message.attempt, v_message.kind, v_message.headers,
          v_message.name, v_message.created_at, v_message.dequeue_at, v_message.dequeued_at,
          v_message.lease_until, null::bigint, case when cardinality(p_cursor) > 3
            then p_cursor[1:3] else coalesce(p_cursor, array[v_seat_floor, v_seat_floor, 0]) end;
        return;
      end if;
    end if;
    if v_has_notes then
      -- All that was told before takes part in the turns, up to 20,000 notes.
      for v_last in 1 .. 10 loop
        v_folded := lonnymq.queue_fold(v_now);
        exit when v_folded <> 'more';
      end loop;
      v_is_contended := v_folded <> 'done';
      select t.swept_at into v_swept_at from lonnymq.tick t order by t.id desc limit 1;
      select q.max_concurrency into v_max_concurrency from lonnymq.queue q where q.only_row;
    end if;
  end if;

  -- Leases are dated after what was folded: what they were waiting for has happened by then.
  v_now := lonnymq.epoch();
  v_seat_floor := coalesce(v_seat_floor, 0);
  select n.last_value into v_seat_last from lonnymq.seat_seq n;
  if v_max_concurrency is not null then
    -- The queue's own limit is counted under the fold lock.
    v_queue_bit := 2;
    v_left := case when v_is_folder then least(v_left, v_max_concurrency - coalesce((
      select m.in_flight from lonnymq.meter m
      where m.channel_id = 0 order by m.version desc limit 1
    ), 0)) else 0 end;
    v_window := least(v_left, 256);
  end if;

  if v_seat is null or v_lap is null or v_seat not between 0 and v_seat_last then
    v_seat := v_seat_floor - 1 + floor(random() * (v_seat_last - v_seat_floor + 1));
    v_lap := v_seat_last;
    v_is_tail := false;
    v_used := 0;
  elsif v_seat < v_seat_floor - 1 then
    -- Those between have left the ring: who was away for long does not walk past what is left of them.
    v_seat := v_seat_floor - 1;
    v_used := 0;
  end if;

  -- One message, of channels without limits: the same walk, a visit at a time and without a single
  -- array. Where it comes to a limit or has seen enough that is empty, the loop below has its say.
  while v_left = 1 and p_limit = 1 and v_queue_bit = 0 and v_visits < 16 loop
    v_from := v_seat - case when v_used > 0 then 1 else 0 end;
    select p.seat, p.channel_id, p.floor_at, p.floor_id into v_place from lonnymq.place p
    where p.seat > v_from and p.seat <= v_lap order by p.seat limit 1;
    if not found and not v_is_tail and v_lap < v_seat_last then
      select p.seat, p.channel_id, p.floor_at, p.floor_id into v_place from lonnymq.place p
      where p.seat > greatest(v_lap, v_from) and p.seat <= v_seat_last order by p.seat limit 1;
    end if;
    if not found then
      select p.seat, p.channel_id, p.floor_at, p.floor_id into v_place from lonnymq.place p
      where p.seat <= v_from and p.seat >= v_seat_floor order by p.seat limit 1;
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
      v_found := 1;
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

  while v_left > 0 loop
    if v_used > 0 then
      -- A turn that was cut short goes on where it stopped.
      v_seat := v_seat - 1;
    end if;
    select array_agg(w.seat), array_agg(w.channel_id), array_agg(w.name), array_agg(w.floor_at),
      array_agg(w.floor_id), array_agg(w.weight),
      array_agg((w.max_concurrency is not null)::integer),
      array_agg(w.channel_id) filter (
        where w.max_concurrency is not null or w.release_interval_ms is not null)
    into w_seats, w_ids, w_names, w_floor_ats, w_floor_ids, w_weights, w_bits, w_limited
    from lonnymq.ring_walk(v_seat, v_lap, v_is_tail, v_seat_last, v_seat_floor, v_window) w;
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
    w_quotas := w_weights;
    if v_rounds > 1 then
      w_quotas := array(select w * v_rounds from unnest(w_weights) as w);
    end if;
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

    v_started := clock_timestamp();
    t_taken := array_fill(0::bigint, array[cardinality(w_seats)]);
    if cardinality(w_seats) = 1 then
      select array_agg(m.tid), array_agg(m.id) into t_tids, t_ids
      from (
        select m.ctid as tid, m.id
        from lonnymq.message m
        where m.channel = w_names[1] and (m.dequeue_at, m.id) >= (w_floor_ats[1], w_floor_ids[1])
          and m.dequeue_at <= v_now and m.token is null
        order by m.dequeue_at, m.id
        limit least(w_quotas[1], v_left)
        for update skip locked
      ) m;
      t_taken[1] := coalesce(cardinality(t_ids), 0);
      t_places := array_fill(1, array[t_taken[1]::integer]);
    else
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
              and m.dequeue_at <= v_now and m.token is null
            order by m.dequeue_at, m.id
            limit w.quota
            for update skip locked
          ) m
        ) m
        limit v_left
      ) t;
      if t_places is not null then
        foreach v_last in array t_places loop
          t_taken[v_last] := t_taken[v_last] + 1;
        end loop;
      end if;
    end if;
    v_left := v_left - coalesce(cardinality(t_ids), 0);

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
      -- A random number is drawn for each call, not for each message: on some builds it is a file to
      -- open.
      v_token := left(replace(gen_random_uuid()::text, '-', ''), 16);
      return query
      update lonnymq.message m
      set token = (v_token || lpad(to_hex(m.id), 16, '0'))::uuid, lease_until = v_now + p_lease_ms, dequeued_at = v_now,
        attempt = m.attempt + 1, worker = p_worker, slot = v_queue_bit | w_bits[t.place]
      from unnest(t_tids, t_places) as t (tid, place)
      where m.ctid = t.tid
      returning 'leased', m.id, m.token, m.channel, m.content, m.state, m.attempt, m.kind,
        m.headers, m.name, m.created_at, m.dequeue_at, m.dequeued_at, m.lease_until, null::bigint,
        array[v_seat, case when v_is_tail then -v_lap else v_lap end, v_used];
      insert into lonnymq.lease (due_at, message_ids) values (v_now + p_lease_ms, t_ids);
      v_found := v_found + cardinality(t_ids);
    end if;
    if w_locked is not null then
      perform lonnymq.channel_charge(array_agg(w.id), array_agg(w.taken), v_now)
      from unnest(w_ids, t_taken) as w (id, taken)
      where w.id = any (w_locked);
    end if;
    if v_is_folder then
      -- What gave less than it was asked for may be empty. Floors are moved up now and then, and
      -- when the walk was slow: then it passed much that is gone.
      v_is_slow := clock_timestamp() - v_started
        > interval '1 millisecond' + interval '20 microseconds' * coalesce(cardinality(t_ids), 0);
      if cardinality(w_seats) = 1 then
        if t_taken[1] < w_quotas[1] or v_is_slow or random() * 100 < t_taken[1] then
          perform lonnymq.channel_review(w_ids, v_now);
        end if;
      else
        select array_agg(w.id) into w_ids
        from unnest(w_ids, w_quotas, t_taken) with ordinality as w (id, quota, taken, place)
        where w.place <= v_last
          and (w.taken < w.quota or v_is_slow or random() * 100 < w.taken);
        if w_ids is not null then
          perform lonnymq.channel_review(w_ids, v_now);
        end if;
      end if;
    end if;

    exit when v_left = 0;
    exit when v_is_whole and not exists (
      select from unnest(w_quotas, t_taken) as w (quota, taken) where w.taken = w.quota and w.taken > 0);
    exit when v_visits >= 2000;
    v_window := case when t_tids is null then least(v_window * 2, 256) else least(v_left, 256) end;
  end loop;

  if v_queue_bit > 0 and v_found > 0 then
    perform lonnymq.meter_add(0, v_found, 0);
  end if;
  if v_found > 0 then
    if v_is_folder and v_now - 1000 >= v_swept_at then
      perform lonnymq.tick_touch(v_now);
    end if;
    return;
  end if;
  if v_is_folder and v_folded is null and (exists (
    select from lonnymq.note n where n.xid >= v_until
  ) or exists (
    select from lonnymq.note n where n.xid = any (v_again)
  )) then
    -- A message that was put below a floor, or into a channel that left the ring, while it was told of.
    v_folded := lonnymq.queue_fold(v_now);
    v_is_contended := true;
  end if;
  return query select * from lonnymq.dequeue_nothing(
    v_is_contended or not v_is_folder or v_visits >= 2000, v_now, v_visits > 0,
    array[v_seat, case when v_is_tail then -v_lap else v_lap end, v_used], p_cursor[4]);
end
$$;

comment on function lonnymq.message_dequeue(integer, bigint, text, bigint[]) is
'Leases messages, channel by channel in turn, under every limit.';
