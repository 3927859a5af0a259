-- Looks at channels of the ring again, under the fold lock: takes the seat of those that have
-- nothing due, and moves floors up to the first message that waits. What another call has leased and
-- not yet committed still shows as waiting here, so a rollback is not lost.
create or replace function lonnymq.channel_review(p_names text[], p_now bigint)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_locked text[];
begin
  select array_agg(l.name) into v_locked
  from (
    select c.name from lonnymq.channel c
    where c.name = any (p_names) and c.seat is not null
    order by c.name
    for update skip locked
  ) l;

  update lonnymq.channel c
  set seat = case when f.dequeue_at <= p_now then c.seat end,
    wake_at = case when f.dequeue_at > p_now then f.dequeue_at end,
    idle_at = case when f.dequeue_at is null then p_now end,
    floor_at = coalesce(f.dequeue_at, 9223372036854775807),
    floor_id = coalesce(f.id, 0)
  from unnest(v_locked) as l (name)
  join lonnymq.channel o on o.name = l.name
  left join lateral (
    select m.dequeue_at, m.id
    from lonnymq.message m
    where m.channel = o.name and (m.dequeue_at, m.id) >= (o.floor_at, o.floor_id)
      and m.token is null
    order by m.dequeue_at, m.id
    limit 1
  ) f on true
  where c.name = o.name and c.seat is not null
    and (f.dequeue_at is null or f.dequeue_at > p_now
      or (f.dequeue_at, f.id) <> (c.floor_at, c.floor_id));
end
$$;

comment on function lonnymq.channel_review(text[], bigint) is
'Takes the seat of channels that have nothing due, and moves floors up.';
