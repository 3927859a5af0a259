-- Tells how far a group is. `remaining` counts up to 10,000 live members. A group is kept as long as history.
--
-- Answers: a row with the state `open`, `sealed`, `ended` or `not_found`.
-- Locks: none.
-- Notifies: no.
create or replace function lonnymq.group_status(p_group_id bigint)
returns table (
  id bigint, state text, remaining bigint, completed bigint, dead bigint, cancelled bigint,
  created_at bigint, ended_at bigint, callback_id bigint
)
language plpgsql
stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  select p_group_id, case when g.id is null then 'not_found' when g.ended_at is not null then 'ended' when g.sealed then 'sealed' else 'open' end,
    (select count(*) from (select from lonnymq.message m where m.group_id = g.id limit 10000) m),
    coalesce(g.completed, t.completed, 0), coalesce(g.dead, t.dead, 0),
    coalesce(g.cancelled, t.cancelled, 0), g.created_at, g.ended_at, g.callback_id
  from (select) as one
  left join lateral (
    select * from lonnymq.message_group g
    where g.id = p_group_id
      and (current_user = session_user or lonnymq.channel_permitted(g.channel))
    limit 1
  ) g on true
  cross join lateral (
    select sum(t.completed)::bigint as completed, sum(t.dead)::bigint as dead,
      sum(t.cancelled)::bigint as cancelled
    from lonnymq.group_tally t where t.group_id = g.id
  ) t;
end
$$;

comment on function lonnymq.group_status(bigint) is
'Tells how far a group is.';
