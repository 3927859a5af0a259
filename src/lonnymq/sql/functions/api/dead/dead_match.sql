-- Lists dead messages, newest first, below p_before: of a channel, a kind, a group of errors, by the md5
-- of what they have in common. It looks at p_most and no more.
--
-- Answers: one row a message; upto, the same in all of them, is the id that was looked at last, null if
--   there are no more. One row without an id if there is none.
create or replace function lonnymq.dead_match(
  p_group text default null,
  p_channel text default null,
  p_kind text default null,
  p_before bigint default null,
  p_limit integer default 50,
  p_most integer default 10000,
  p_bytes integer default 256
)
returns table (
  id bigint, channel text, kind text, key text, attempt integer, created_at bigint,
  died_at bigint, size bigint, error text, head bytea, upto bigint, looked_at bigint, now_at bigint
)
language plpgsql
stable
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 10000);
  perform lonnymq.guard_range('most', p_most, 1, 10000);
  return query
  with looked as materialized (
    select d.id, d.kind, d.error from lonnymq.dead d
    where (p_channel is null or d.channel = p_channel) and (p_before is null or d.id < p_before)
    order by d.id desc limit p_most
  ), extent as (
    select count(*) as messages, min(l.id) as last_id from looked l
  ), found as materialized (
    select l.id from looked l
    where (p_kind is null or l.kind = p_kind)
      and (p_group is null or md5(lonnymq.error_group(l.error)) = p_group)
    order by l.id desc limit p_limit + 1
  ), shown as (
    select f.id from found f order by f.id desc limit p_limit
  )
  select s.id, d.channel, d.kind, d.key, d.attempt, d.created_at, d.died_at,
    octet_length(d.content)::bigint, d.error, substring(d.content for p_bytes), case
      when (select count(*) from found f) > p_limit then (select min(s.id) from shown s)
      when e.messages >= p_most then e.last_id
    end, e.messages, lonnymq.epoch()
  from extent e
  left join shown s on true
  left join lateral (select * from lonnymq.dead d where d.id = s.id limit 1) d on true
  order by s.id desc;
end
$$;

comment on function lonnymq.dead_match(text, text, text, bigint, integer, integer, integer) is
'Lists dead messages by channel, kind and group of errors.';
