-- Finds channels that the ring of a filter does not reach although messages of its kinds wait. Reads every message
-- once. See queue_check.
-- Answers: a row per violation.
create or replace function lonnymq.queue_check_kinds()
returns table (invariant text, channel text, message_id bigint, detail text)
language sql
stable
as $$
  with filter as materialized (
    select * from lonnymq.kind_filter f where f.built = cardinality(f.kinds)
  ), stood as materialized (
    select distinct on (p.filter_id, p.channel_id) p.*, c.name, h.hold,
      count(*) over (partition by p.filter_id, p.channel_id) as versions
    from lonnymq.kind_position p
    left join lonnymq.channel c on c.id = p.channel_id
    left join lonnymq.channel_position h on h.channel_id = p.channel_id
    order by p.filter_id, p.channel_id, p.version desc, h.version desc
  ), waiting as materialized (
    select f.id as filter_id, m.channel, min(m.first) as first
    from (
      select m.channel, coalesce(m.kind, '') as kind, min(array[m.dequeue_at, m.id]) as first
      from lonnymq.message m where m.token is null and (m.expires_at > (select lonnymq.epoch())) is not false
      group by 1, 2
    ) m
    join (select f.id, k.kind from filter f cross join unnest(f.kinds) as k (kind)) f on f.kind = m.kind
    group by 1, 2
  )
  select 'kind_position', s.name, null::bigint,
    format('filter %s: %s versions, seat %s, wake_at %s', s.filter_id, s.versions, s.seat, s.wake_at)
  from stood s
  where s.versions > 1 or (s.seat is null) = (s.wake_at is null) or s.name is null
  union all
  select 'kind_reachable', w.channel, w.first[2],
    format('waits since %s, filter %s, floor %s, seat %s, wake_at %s, held %s, hold %s', w.first[1],
      w.filter_id, s.floor_at, s.seat, s.wake_at, s.is_held, s.hold)
  from waiting w
  left join stood s on s.filter_id = w.filter_id and s.name = w.channel
  left join lonnymq.change_totals() t on t.channel = w.channel
  where not coalesce(t.rescan, false) and (t.first <= w.first) is not true
    and (s.name is null or (w.first[1], w.first[2]) < (s.floor_at, s.floor_id)
      or (s.seat is null and not s.is_held and s.wake_at > w.first[1])
      or (s.is_held and s.wake_at > lonnymq.epoch() and s.hold is null))
$$;

comment on function lonnymq.queue_check_kinds() is
'Finds channels that the ring of a filter does not reach.';
