-- The careful half of message_create_many: names, capacities, channels that are being released.
-- Ids are drawn in the order of the arrays. Names go in in the order of channel and name, so that
-- two calls with equal names cannot deadlock; what has no name goes in as it stands.
create or replace function lonnymq.message_create_each(
  p_channels text[], p_contents bytea[], p_dequeue_ats bigint[], p_delays_ms bigint[],
  p_names text[], p_kinds text[], p_headers jsonb[]
)
returns table (ordinal integer, answer text, id bigint, reason text, size bigint, max_size bigint)
language plpgsql
as $$
#variable_conflict use_column
begin
  return query
  with drawn as materialized (
    select i.*, nextval('lonnymq.message_id_seq') as id
    from unnest(p_channels, p_contents, p_dequeue_ats, p_delays_ms, p_names, p_kinds, p_headers)
      with ordinality as i (channel, content, dequeue_at, delay_ms, name, kind, headers, ordinal)
  ), sorted as materialized (
    select d.* from drawn d order by d.channel, d.name nulls last, d.ordinal
  ), added as materialized (
    select s.ordinal, a.answer, a.id, a.reason, a.size, a.max_size
    from sorted s
    cross join lateral lonnymq.message_add(s.id, s.channel, s.content, s.dequeue_at, s.delay_ms,
      s.name, s.kind, s.headers) a
  )
  select a.ordinal::integer, a.answer, a.id, a.reason, a.size, a.max_size
  from added a
  order by a.ordinal;
end
$$;

comment on function lonnymq.message_create_each(
  text[], bytea[], bigint[], bigint[], text[], text[], jsonb[]
) is
'The careful half of message_create_many: names, capacities, channels being released.';
