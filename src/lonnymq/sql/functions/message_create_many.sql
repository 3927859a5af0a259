-- Adds many messages, to one channel or to many, inside the caller's transaction. They keep their
-- order: ids follow the order of the arrays.
--
-- Answers: one row a message, in the order given: see message_create. A channel with a capacity takes
--   the first ones that fit.
-- Locks: none that anybody could wait for, except on equal names, and these in the order of names.
-- Notifies: once, when one of the channels has nothing due.
create or replace function lonnymq.message_create_many(
  p_channels text[],
  p_contents bytea[],
  p_dequeue_ats bigint[] default null,
  p_delays_ms bigint[] default null,
  p_names text[] default null,
  p_kinds text[] default null,
  p_headers jsonb[] default null
)
returns table (ordinal integer, answer text, id bigint, reason text, size bigint, max_size bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_length integer := cardinality(p_channels);
  v_now bigint := lonnymq.epoch();
  v_begin bigint := lonnymq.epoch(now());
  v_bad record;
  v_is_plain boolean;
begin
  if p_channels is null or p_contents is null or v_length <> cardinality(p_contents) then
    raise exception using errcode = 'LM001',
      message = format('as many contents as channels are needed: there are %s channels and %s contents',
        coalesce(v_length, 0), coalesce(cardinality(p_contents), 0));
  end if;
  if v_length > 10000 then
    raise exception using errcode = 'LM002',
      message = format('a call takes at most 10000 messages, not %s', v_length),
      hint = 'Send them in several calls, or load them with COPY and message_announce.';
  end if;
  perform lonnymq.guard_aligned('dequeue_ats', p_dequeue_ats, v_length);
  perform lonnymq.guard_aligned('delays_ms', p_delays_ms, v_length);
  perform lonnymq.guard_aligned('names', p_names, v_length);
  perform lonnymq.guard_aligned('kinds', p_kinds, v_length);
  perform lonnymq.guard_aligned('headers', p_headers, v_length);
  perform lonnymq.commit_durably();

  for v_bad in
    select i.*
    from unnest(p_channels, p_contents, p_dequeue_ats, p_delays_ms, p_names, p_kinds, p_headers)
      as i (channel, content, dequeue_at, delay_ms, name, kind, headers)
    where i.channel is null or octet_length(i.channel) not between 1 and 255
      or i.content is null or octet_length(i.content) > 67108864
      or octet_length(i.name) not between 1 and 255 or octet_length(i.kind) not between 1 and 255
      or i.delay_ms is not null or i.headers is not null
  loop
    perform lonnymq.guard_message(v_bad.channel, v_bad.content, v_bad.dequeue_at, v_bad.delay_ms,
      v_bad.name, v_bad.kind, v_bad.headers);
  end loop;

  -- Plain: no names, and no channel among them has a capacity or is being released.
  v_is_plain := p_names is null and not exists (
    select from (select distinct i.channel from unnest(p_channels) as i (channel)) i
    cross join lateral lonnymq.channel_policy(i.channel) p
    where p.releasing or p.max_size is not null
  );
  if not v_is_plain then
    return query select * from lonnymq.message_create_each(p_channels, p_contents, p_dequeue_ats,
      p_delays_ms, p_names, p_kinds, p_headers);
    return;
  end if;

  return query
  with input as materialized (
    select i.ordinal, i.channel, i.content, i.kind, i.headers,
      case
        when i.dequeue_at is not null then i.dequeue_at
        when i.delay_ms > 0 then v_now + i.delay_ms
        else v_begin
      end as dequeue_at
    from unnest(p_channels, p_contents, p_dequeue_ats, p_delays_ms, p_kinds, p_headers)
      with ordinality as i (channel, content, dequeue_at, delay_ms, kind, headers, ordinal)
  ), added as (
    insert into lonnymq.message (channel, content, dequeue_at, created_at, kind, headers)
    select i.channel, i.content, i.dequeue_at, v_now, i.kind, i.headers
    from input i
    order by i.ordinal
    returning message.id, message.channel, message.dequeue_at
  ), first_one as (
    select distinct on (a.channel) a.channel, a.dequeue_at, a.id
    from added a
    order by a.channel, a.dequeue_at, a.id
  ), told as (
    insert into lonnymq.note (channel, dequeue_at, message_id, told)
    select f.channel, f.dequeue_at, f.id, lonnymq.channel_tell(f.channel, f.dequeue_at)
    from first_one f
  )
  select (row_number() over ())::integer, 'created', a.id, null::text, null::bigint, null::bigint
  from added a;
end
$$;

comment on function lonnymq.message_create_many(
  text[], bytea[], bigint[], bigint[], text[], text[], jsonb[]
) is
'Adds many messages, to one channel or to many.';
