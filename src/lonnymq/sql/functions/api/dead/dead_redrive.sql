-- Puts dead messages back into their channels, at their old position in time and with all attempts left.
-- The capacity of the channel does not apply to redriven messages.
--
-- Answers: `redriven`, `duplicate` (a live message has the same key, and the message stays dead),
--   `not_found`.
-- Locks: the dead messages, without waiting. An equal key is waited for.
-- Notifies: yes.
create or replace function lonnymq.dead_redrive(
  p_ids bigint[] default null,
  p_channel text default null,
  p_kind text default null,
  p_limit integer default 1000
)
returns table (id bigint, answer text)
language plpgsql
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_is_fixed boolean := lonnymq.snapshot_is_fixed();
  v_picked bigint[];
  v_alive bigint[];
begin
  perform lonnymq.guard_dead_filter(p_ids, p_channel, p_kind, p_limit);
  perform lonnymq.commit_durably();
  v_picked := lonnymq.dead_pick(p_ids, p_channel, p_kind, p_limit);

  with alive as (
    insert into lonnymq.message (
      id, channel, content, dequeue_at, created_at, kind, headers, key, state, error,
      max_attempts, priority
    )
    select d.id, d.channel, d.content, d.dequeue_at, d.created_at, d.kind, d.headers, d.key,
      d.state, d.error, d.max_attempts, d.priority
    from unnest(v_picked) as i (id)
    cross join lateral (select * from lonnymq.dead d where d.id = i.id limit 1) d
    order by d.channel, d.key, d.id
    on conflict (channel, key) where key is not null do nothing
    returning message.id, message.channel, message.dequeue_at
  ), notified as (
    insert into lonnymq.change (channel, dequeue_at, message_id, size, added, notified)
    select f.channel, f.dequeue_at, f.id,
      case when s.max_size is not null or v_is_fixed then f.redriven else 0 end,
      case when s.max_size is not null or v_is_fixed then 0 else f.redriven end, true
    from (
      select distinct on (a.channel) a.channel, a.dequeue_at, a.id,
        count(*) over (partition by a.channel) as redriven
      from alive a
      order by a.channel, a.dequeue_at, a.id
    ) f
    cross join lateral lonnymq.channel_capacity(f.channel) s
  )
  select array_agg(a.id) into v_alive from alive a;
  delete from lonnymq.dead d where d.id = any (v_alive);
  if v_alive is not null then
    perform pg_notify('lonnymq', '');
  end if;

  return query
  select i.id, case
    when i.id = any (v_alive) then 'redriven'
    when i.id = any (v_picked) then 'duplicate'
    else 'not_found'
  end
  from unnest(coalesce(p_ids, v_picked)) with ordinality as i (id, ordinal)
  order by i.ordinal;
end
$$;

comment on function lonnymq.dead_redrive(bigint[], text, text, integer) is
'Puts dead messages back into their channels, at their old position in time.';
