-- Brings what a walk may take down to what the queue's own max_concurrency allows, and locks the slots: a part of the
-- limit with enough of them, or as many parts as it takes (queue_limit_split). Changes that were left to wait are folded
-- if slots are missing. A second call changes nothing.
-- Locks: parts, without waiting.
create or replace function lonnymq.walk_quota_queue(p_walk lonnymq.walk)
returns lonnymq.walk
language plpgsql
as $$
begin
  if p_walk.parts is not null then
    return p_walk;
  end if;
  select array[l.tid], array[l.free] into p_walk.parts, p_walk.part_slots
  from lonnymq.queue q
  cross join lateral (
    select m.ctid as tid, m.size - m.in_flight as free, m.tat, m.epoch from lonnymq.channel_counter m
    where m.channel_id = (select -floor(random() * least(16, q.max_concurrency))::bigint)
    order by m.version desc limit 1
  ) m
  cross join lateral (
    -- What is not taken must not be locked: an idle consumer writes nothing.
    select l.ctid as tid, l.size - l.in_flight as free from lonnymq.channel_counter l
    where l.ctid = m.tid and l.size - l.in_flight >= p_walk.remaining for update skip locked
  ) l
  where q.only_row and m.tat = q.max_concurrency and m.epoch = q.limit_epoch and m.free >= p_walk.remaining;
  if found then
    return p_walk;
  end if;

  for v_try in 1 .. 3 loop
    select coalesce(array_agg(l.tid), '{}'), array_agg(l.free) into p_walk.parts, p_walk.part_slots
    from (
      select l.tid, l.free
      from lonnymq.queue q
      cross join generate_series(-15, 0) as i (id)
      cross join lateral (
        select m.ctid as tid, m.size - m.in_flight as free, m.tat, m.epoch from lonnymq.channel_counter m
        where m.channel_id = i.id order by m.version desc limit 1
      ) m
      cross join lateral (
        select l.ctid as tid, l.size - l.in_flight as free from lonnymq.channel_counter l
        where l.ctid = m.tid and l.in_flight < l.size for update skip locked
      ) l
      where q.only_row and m.tat = q.max_concurrency and m.epoch = q.limit_epoch and m.free > 0
      limit p_walk.remaining
    ) l;
    exit when p_walk.remaining <= (select sum(s) from unnest(p_walk.part_slots) as s);
    if lonnymq.walk_can_fold(p_walk) then
      p_walk.is_late := true;
      p_walk := lonnymq.walk_fold(p_walk);
    else
      exit when lonnymq.queue_limit_is_split() or not p_walk.is_folder or not lonnymq.queue_limit_split();
    end if;
  end loop;
  if p_walk.parts = '{}' then
    p_walk.is_contended := p_walk.is_contended or not lonnymq.queue_limit_is_split()
      or coalesce((select q.max_concurrency from lonnymq.queue q where q.only_row)
        > lonnymq.queue_in_flight(), false);
  end if;
  p_walk.remaining := least(p_walk.remaining, coalesce((select sum(s) from unnest(p_walk.part_slots) as s), 0));
  return p_walk;
end
$$;

comment on function lonnymq.walk_quota_queue(lonnymq.walk) is
'Reduces the number of messages of a walk to the limit of the queue.';
