-- Moves those messages that died from the live ones to the dead ones. The caller has locked their rows.
create or replace function lonnymq.dead_add(
  p_tids tid[], p_errors text[], p_died boolean[], p_now bigint
)
returns void
language plpgsql
as $$
declare
  v_watched bigint[];
  v_groups bigint[];
begin
  with gone as (
    delete from lonnymq.message m
    using unnest(p_tids, p_errors, p_died) as t (tid, error, died)
    where m.ctid = t.tid and t.died
    returning m.*, t.error as last_error
  ), added as (
    insert into lonnymq.dead (
      id, dequeue_at, created_at, died_at, attempt, channel, kind, key, headers, state, error, content,
      max_attempts, priority
    )
    select g.id, g.dequeue_at, g.created_at, p_now, g.attempt, g.channel, g.kind, g.key, g.headers,
      g.state, g.last_error, g.content, g.max_attempts, g.priority
    from gone g
  )
  select array_agg(g.id) filter (where g.watched), array_agg(g.group_id) filter (where g.group_id is not null)
  into v_watched, v_groups from gone g;
  if v_watched is not null or v_groups is not null then
    perform lonnymq.message_ended(v_watched, v_groups, 'dead');
  end if;
end
$$;

comment on function lonnymq.dead_add(tid[], text[], boolean[], bigint) is
'Moves messages that died to the dead ones.';
