-- Moves messages with a priority up to where they stand from now on, because their time has come: message_rank. The
-- folder calls this function, which moves up to 1,000. A message that somebody else holds at this moment is looked at
-- by every fold (lease_unlocked).
-- Locks: the messages, without waiting.
-- Notifies: when a channel has nothing due and nothing earlier to wait for.
create or replace function lonnymq.message_promote(p_ids bigint[], p_now bigint)
returns void
language plpgsql
as $$
declare
  v_ids bigint[];
begin
  select array_agg(h.id) into v_ids
  from (
    select m.id from lonnymq.message m
    where m.id = any (p_ids[:1000]) and m.token is null and m.dequeue_at <= p_now
    order by m.id
    for update skip locked
  ) h;
  if cardinality(v_ids) is distinct from cardinality(p_ids) then
    insert into lonnymq.lease (due_at, message_ids, is_settling)
    select p_now + l.delay_ms, array_agg(l.id), l.delay_ms > 0
    from (
      select i.id, case when i.place > 1000 then 0 else 100 end as delay_ms
      from unnest(p_ids) with ordinality as i (id, place) where i.id <> all (coalesce(v_ids, '{}'))
    ) l
    group by l.delay_ms;
  end if;
  with moved as (
    update lonnymq.message m set dequeue_at = lonnymq.message_rank(m.dequeue_at, m.priority, p_now)
    where m.id = any (v_ids)
    returning m.channel, m.dequeue_at, m.id
  )
  insert into lonnymq.change (channel, dequeue_at, message_id, last_at, last_id, notified)
  select m.channel, min(m.dequeue_at), min(m.id), max(m.dequeue_at), max(m.id),
    lonnymq.channel_notify(m.channel, min(m.dequeue_at))
  from moved m
  group by m.channel;
end
$$;

comment on function lonnymq.message_promote(bigint[], bigint) is
'Moves messages with a priority up when their time has come.';
