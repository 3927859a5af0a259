-- Counts new leases of channels whose rows the caller has locked, and takes the seat of channels at
-- their limit. The change of an ended lease, or the next time of the rate, brings these channels back.
-- The limits count as they were when the channel was read (bits), because settings may change meanwhile.
-- A caller that is not the folder writes a change for a time (recheck), because the time may pass before
-- the commit.
create or replace function lonnymq.channel_count_leases(
  p_ids bigint[], p_taken bigint[], p_bits integer[], p_now bigint, p_is_folder boolean
)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_meters tid[];
  v_counts lonnymq.channel_counter[];
  v_old tid[];
  v_new lonnymq.channel_position[];
begin
  with metered as materialized (
    select i.id, i.taken, m.tid, coalesce(m.version, 0) + 1 as version, coalesce(m.size, 0) as size,
      l.max_concurrency, (l.burst - 1) * l.min_interval_ms as ahead_ms,
      l.in_flight + case when i.bits & 1 = 1 then i.taken else 0 end as in_flight,
      case
        when l.min_interval_ms is null or i.taken = 0 then l.tat
        else greatest(l.tat, p_now) + i.taken * l.min_interval_ms
      end as tat, coalesce(m.epoch, 0) as epoch, l.is_begun
    from unnest(p_ids, p_taken, p_bits) as i (id, taken, bits)
    cross join lateral lonnymq.channel_limit(i.id) l
    left join lateral (
      select m.ctid as tid, m.version, m.size, m.epoch from lonnymq.channel_counter m
      where m.channel_id = i.id order by m.version desc limit 1
    ) m on true
  ), held as (
    select p.*,
      case when m.in_flight >= m.max_concurrency then 'saturated' else 'throttled' end as next_hold,
      case when m.in_flight >= m.max_concurrency then null else m.tat - m.ahead_ms end as next_wake_at
    from metered m
    cross join lateral (
      select p.ctid as tid, p.* from lonnymq.channel_position p
      where p.channel_id = m.id order by p.version desc limit 1
    ) p
    where p.seat is not null and m.is_begun
      and (m.in_flight >= m.max_concurrency or m.tat - m.ahead_ms > p_now)
  )
  select
    (select array_agg(m.tid) from metered m where m.taken > 0),
    (select array_agg(row(m.id, m.version, m.in_flight, m.size, m.tat, m.epoch)::lonnymq.channel_counter)
      from metered m where m.taken > 0),
    (select array_agg(h.tid) from held h),
    (select array_agg(row(h.channel_id, h.version + 1, null, h.next_wake_at, h.floor_at, h.floor_id,
      null, h.next_hold, h.gap_at, h.gap_id, h.gap_end_at, h.gap_end_id)::lonnymq.channel_position) from held h)
  into v_meters, v_counts, v_old, v_new;

  if v_counts is not null then
    delete from lonnymq.channel_counter m where m.ctid = any (v_meters);
    insert into lonnymq.channel_counter (channel_id, version, in_flight, size, tat, epoch)
    select n.channel_id, n.version, n.in_flight, n.size, n.tat, n.epoch from unnest(v_counts) as n;
  end if;
  if v_old is not null then
    perform lonnymq.channel_position_move(v_old, v_new);
    if not p_is_folder then
      insert into lonnymq.change (channel, recheck)
      select c.name, true from unnest(v_new) as n
      cross join lateral (select c.name from lonnymq.channel c where c.id = n.channel_id limit 1) c
      where n.wake_at is not null;
    end if;
  end if;
end
$$;

comment on function lonnymq.channel_count_leases(bigint[], bigint[], integer[], bigint, boolean) is
'Counts new leases, and takes the seat of channels at their limit.';
