-- Leases up to p_left messages for a dequeue or a claim: walks the ring by windows of many channels, from
-- where the cursor stands, and takes what each is due under its limits. What it may change of what it was
-- handed, it changes: the walk's place (p_seat, p_lap, p_is_tail, p_used: see message_dequeue).
--
-- A claim hands in its token, walks by larger windows, and may choose: channels by name or pattern, and
-- what was created, or became due, up to a moment.
--
-- Answers: as message_dequeue. A claim gets one row for all that was leased, by which it finds the row of
--   lease that has their ids: the first one's id, dequeued_at, lease_until, cursor; and the answer counted
--   instead of leased where limits had a say.
-- Locks: channels that have limits, and messages, without ever waiting for one.
create or replace function lonnymq.ring_lease(
  p_left integer,
  p_lease_ms bigint,
  p_worker text,
  p_now bigint,
  p_seat bigint,
  p_lap bigint,
  p_is_tail boolean,
  p_used bigint,
  p_visits integer,
  p_seat_last bigint,
  p_seat_floor bigint,
  p_is_folder boolean,
  p_is_contended boolean,
  p_tick lonnymq.tick,
  p_last_look bigint,
  p_token text default null,
  p_channels text[] default null,
  p_pattern text default null,
  p_last_id bigint default null,
  p_last_at bigint default null
)
returns table (
  answer text, id bigint, token uuid, channel text, content bytea, state bytea, attempt integer,
  kind text, headers jsonb, name text, created_at bigint, dequeue_at bigint, dequeued_at bigint,
  lease_until bigint, look_at bigint, cursor bigint[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_max_concurrency integer;
  v_queue_bit integer := 0;
  v_most integer := case when p_token is null then 256 else 2048 end;
  v_window integer;
  v_rounds bigint;
  v_is_whole boolean;
  v_is_due boolean;
  v_started timestamptz;
  v_token text;
  v_last integer;
  v_ids bigint[];
  v_due_at bigint;
  v_is_counted boolean := false;
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
  select q.max_concurrency into v_max_concurrency from lonnymq.queue q where q.only_row;
  if v_max_concurrency is not null then
    -- The queue's own limit is counted under the fold lock.
    v_queue_bit := 2;
    p_left := case when p_is_folder then least(p_left, v_max_concurrency - coalesce((
      select m.in_flight from lonnymq.meter m
      where m.channel_id = 0 order by m.version desc limit 1
    ), 0)) else 0 end;
  end if;
  v_window := least(p_left, v_most);

  while p_left > 0 loop
    if p_used > 0 then
      -- A turn that was cut short goes on where it stopped.
      p_seat := p_seat - 1;
    end if;
    if p_channels is null and p_pattern is null then
      select array_agg(w.seat), array_agg(w.channel_id), array_agg(w.name), array_agg(w.floor_at),
        array_agg(w.floor_id), array_agg(w.weight),
        array_agg((w.max_concurrency is not null)::integer),
        array_agg(w.channel_id) filter (
          where w.max_concurrency is not null or w.release_interval_ms is not null)
      into w_seats, w_ids, w_names, w_floor_ats, w_floor_ids, w_weights, w_bits, w_limited
      from lonnymq.ring_walk(p_seat, p_lap, p_is_tail, p_seat_last, p_seat_floor, v_window) w;
    else
      select array_agg(w.seat), array_agg(w.channel_id), array_agg(w.name), array_agg(w.floor_at),
        array_agg(w.floor_id), array_agg(w.weight),
        array_agg((w.max_concurrency is not null)::integer),
        array_agg(w.channel_id) filter (
          where w.max_concurrency is not null or w.release_interval_ms is not null)
      into w_seats, w_ids, w_names, w_floor_ats, w_floor_ids, w_weights, w_bits, w_limited
      from (
        select * from lonnymq.ring_choose(p_channels, p_seat, p_lap, p_is_tail, p_seat_last,
          p_seat_floor)
        union all
        select * from lonnymq.ring_walk(p_seat, p_lap, p_is_tail, p_seat_last, p_seat_floor,
          2147483647) w
        where p_channels is null and w.name ~ ('^(?:' || p_pattern || ')$')
        limit v_window
      ) w;
    end if;
    if w_seats is null and p_is_tail then
      -- Only channels that sat down after this lap had come to its end.
      p_is_tail := false;
      p_used := 0;
      continue;
    end if;
    exit when w_seats is null;

    p_visits := p_visits + cardinality(w_seats);
    v_is_whole := cardinality(w_seats) < v_window and not (p_is_tail and p_lap < p_seat_last);
    v_rounds := 1;
    if v_is_whole and p_left > cardinality(w_seats) then
      select greatest(1, p_left / sum(w)::bigint) into v_rounds from unnest(w_weights) as w;
    end if;
    if w_seats[1] <> p_seat + 1 or p_used >= w_weights[1] then
      p_used := 0;
    end if;
    w_quotas := w_weights;
    if v_rounds > 1 then
      w_quotas := array(select w * v_rounds from unnest(w_weights) as w);
    end if;
    w_quotas[1] := w_quotas[1] - p_used;

    w_locked := null;
    if w_limited is not null then
      -- Lock first, look after.
      select array_agg(l.id) into w_locked
      from (
        select c.id from lonnymq.channel c where c.id = any (w_limited) order by c.id
        for update skip locked
      ) l;
      if cardinality(w_locked) is distinct from cardinality(w_limited) then
        p_is_contended := true;
      end if;
      p_now := lonnymq.epoch();
      select array_agg(case when w.id <> all (w_limited) then w.quota
          else least(w.quota, coalesce(a.allowed, 0)) end order by w.place),
        array_agg(coalesce(a.counts, w.counts) order by w.place)
      into w_quotas, w_bits
      from unnest(w_ids, w_quotas, w_bits) with ordinality as w (id, quota, counts, place)
      left join lonnymq.channel_allow(w_locked, p_now) a on a.id = w.id;
    end if;

    v_started := clock_timestamp();
    t_taken := array_fill(0::bigint, array[cardinality(w_seats)]);
    if cardinality(w_seats) = 1 then
      select array_agg(m.tid), array_agg(m.id) into t_tids, t_ids
      from (
        select m.ctid as tid, m.id
        from lonnymq.message m
        where m.channel = w_names[1] and (m.dequeue_at, m.id) >= (w_floor_ats[1], w_floor_ids[1])
          and m.dequeue_at <= least(p_now, p_last_at) and m.token is null
          and (p_last_id is null or m.id <= p_last_id)
        order by m.dequeue_at, m.id
        limit least(w_quotas[1], p_left)
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
          (m.rank - 1 + case when w.place = 1 then p_used else 0 end) / w.weight as round
        from unnest(w_names, w_floor_ats, w_floor_ids, w_quotas, w_weights)
          with ordinality as w (name, floor_at, floor_id, quota, weight, place)
        cross join lateral (
          select m.tid, m.id, row_number() over () as rank
          from (
            select m.ctid as tid, m.id
            from lonnymq.message m
            where m.channel = w.name and (m.dequeue_at, m.id) >= (w.floor_at, w.floor_id)
              and m.dequeue_at <= least(p_now, p_last_at) and m.token is null
              and (p_last_id is null or m.id <= p_last_id)
            order by m.dequeue_at, m.id
            limit w.quota
            for update skip locked
          ) m
        ) m
        limit p_left
      ) t;
      if t_places is not null then
        foreach v_last in array t_places loop
          t_taken[v_last] := t_taken[v_last] + 1;
        end loop;
      end if;
    end if;
    p_left := p_left - coalesce(cardinality(t_ids), 0);

    -- Where the walk stands: after the window, or in the middle of it if the limit was reached there.
    v_last := cardinality(w_seats);
    if p_left = 0 and v_rounds = 1 then
      v_last := t_places[cardinality(t_places)];
    end if;
    if w_seats[v_last] > p_lap then
      p_is_tail := true;
      p_lap := p_seat_last;
    elsif w_seats[v_last] <= p_seat then
      p_lap := case when p_is_tail then p_lap else p_seat_last end;
      p_is_tail := false;
    end if;
    p_used := case when p_left > 0 or v_rounds > 1 then 0
      else t_taken[v_last] + case when v_last = 1 then p_used else 0 end end;
    if p_used >= w_weights[v_last] then
      p_used := 0;
    end if;
    p_seat := w_seats[v_last];

    if t_tids is not null and p_token is not null then
      update lonnymq.message m
      set token = (p_token || lpad(to_hex(m.id), 16, '0'))::uuid, lease_until = p_now + p_lease_ms,
        dequeued_at = p_now, attempt = m.attempt + 1, worker = p_worker, slot = v_queue_bit | w_bits[t.place]
      from unnest(t_tids, t_places) as t (tid, place)
      where m.ctid = t.tid;
      v_is_counted := v_is_counted or v_queue_bit > 0 or w_locked is not null;
    elsif t_tids is not null then
      -- A random number is drawn for each call, not for each message: on some builds it is a file to
      -- open.
      v_token := left(replace(gen_random_uuid()::text, '-', ''), 16);
      return query
      update lonnymq.message m
      set token = (v_token || lpad(to_hex(m.id), 16, '0'))::uuid, lease_until = p_now + p_lease_ms,
        dequeued_at = p_now, attempt = m.attempt + 1, worker = p_worker, slot = v_queue_bit | w_bits[t.place]
      from unnest(t_tids, t_places) as t (tid, place)
      where m.ctid = t.tid
      returning 'leased', m.id, m.token, m.channel, m.content, m.state, m.attempt, m.kind,
        m.headers, m.name, m.created_at, m.dequeue_at, m.dequeued_at, m.lease_until, null::bigint,
        array[p_seat, case when p_is_tail then -p_lap else p_lap end, p_used];
    end if;
    if t_tids is not null then
      -- Somebody looks when the first of these leases ends.
      v_ids := v_ids || t_ids;
      v_due_at := least(v_due_at, p_now + p_lease_ms);
    end if;
    if w_locked is not null then
      perform lonnymq.channel_charge(array_agg(w.id), array_agg(w.taken), p_now)
      from unnest(w_ids, t_taken) as w (id, taken)
      where w.id = any (w_locked);
    end if;
    if p_is_folder then
      -- What gave less than it was asked for may be empty. Floors are moved up now and then, those of
      -- a window together, which is cheaper, and when the walk was slow: then it passed much that is
      -- gone.
      v_is_due := clock_timestamp() - v_started > interval '2 milliseconds'
        + interval '50 microseconds' * (cardinality(w_seats) + coalesce(cardinality(t_ids), 0))
        or random() * (84 + 16 * cardinality(w_seats)) < cardinality(t_ids);
      if cardinality(w_seats) = 1 then
        if t_taken[1] < w_quotas[1] or v_is_due then
          perform lonnymq.channel_review(w_ids, p_now);
        end if;
      else
        select array_agg(w.id) into w_ids
        from unnest(w_ids, w_quotas, t_taken) with ordinality as w (id, quota, taken, place)
        where w.place <= v_last
          and (w.taken < w.quota or v_is_due);
        if w_ids is not null then
          perform lonnymq.channel_review(w_ids, p_now);
        end if;
      end if;
    end if;

    exit when p_left = 0;
    exit when v_is_whole and not exists (
      select from unnest(w_quotas, t_taken) as w (quota, taken) where w.taken = w.quota and w.taken > 0);
    exit when p_visits >= 8 * v_most;
    v_window := least(case when t_tids is null then v_window * 2 else p_left end, v_most);
  end loop;

  if v_ids is not null then
    insert into lonnymq.lease (due_at, message_ids) values (v_due_at, v_ids);
    if v_queue_bit > 0 then
      perform lonnymq.meter_add(0, cardinality(v_ids), 0);
    end if;
    if p_is_folder and p_now - 1000 >= p_tick.swept_at then
      perform lonnymq.tick_touch(p_now);
    end if;
    if p_token is not null then
      answer := case when v_is_counted then 'counted' else 'leased' end;
      id := v_ids[1];
      dequeued_at := p_now;
      lease_until := v_due_at;
      cursor := array[p_seat, case when p_is_tail then -p_lap else p_lap end, p_used];
      return next;
    end if;
    return;
  end if;
  if p_is_folder and (exists (
    select from lonnymq.note n where n.quiet = any ('{false,true}') and n.xid >= p_tick.until
  ) or exists (
    select from lonnymq.note n
    where n.quiet = any ('{false,true}') and n.xid = any (p_tick.again)
  )) then
    -- A message that was put below a floor, or into a channel that left the ring, while it was told of.
    perform lonnymq.queue_fold(p_now);
    p_is_contended := true;
  end if;
  return query select * from lonnymq.dequeue_nothing(
    p_is_contended or not p_is_folder or p_visits >= 8 * v_most, p_now,
    p_visits > 0 and p_channels is null and p_pattern is null and p_last_at is null,
    array[p_seat, case when p_is_tail then -p_lap else p_lap end, p_used], p_last_look);
end
$$;

comment on function lonnymq.ring_lease(
  integer, bigint, text, bigint, bigint, bigint, boolean, bigint, integer, bigint, bigint, boolean,
  boolean, lonnymq.tick, bigint, text, text[], text, bigint, bigint
) is
'Leases many messages for a dequeue or a claim, channel by channel in turn, under every limit.';
