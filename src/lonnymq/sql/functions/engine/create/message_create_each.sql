-- The careful half of message_create_many: keys, capacities, channels that are being released.
-- Ids are drawn in the order of the arrays, and in that order a capacity is given to what is no duplicate.
-- Keys go in in the order of channel and key, so that two calls with equal keys cannot deadlock; what
-- has no key goes in as it stands. One change for each channel.
--
-- A key that another transaction turns out to have taken meanwhile is a duplicate, and the room that was
-- meant for it is that transaction's.
--
-- Rows are joined by hash: a loop over both takes seconds for 10,000.
create or replace function lonnymq.message_create_each(
  p_channels text[], p_contents bytea[], p_dequeue_ats bigint[], p_delays_ms bigint[],
  p_keys text[], p_kinds text[], p_headers jsonb[]
)
returns table (ordinal integer, answer text, id bigint, reason text, size bigint, max_size bigint)
language plpgsql
set enable_hashjoin = on
set enable_nestloop = off
as $$
#variable_conflict use_column
declare
  v_now bigint := lonnymq.epoch();
  v_is_fixed boolean := lonnymq.snapshot_is_fixed();
  v_ids bigint[];
  v_ats bigint[];
  v_answers text[];
  v_firsts integer[];
  v_reasons text[];
  v_sizes bigint[];
  v_max_sizes bigint[];
  v_new record;
begin
  select array_agg(j.id), array_agg(j.answer), array_agg(j.first), array_agg(j.reason),
    array_agg(j.size), array_agg(j.max_size)
  into v_ids, v_answers, v_firsts, v_reasons, v_sizes, v_max_sizes
  from lonnymq.message_judge(p_channels, p_keys) j;
  v_ats := array(
    select lonnymq.message_due(i.dequeue_at, i.delay_ms, v_now, lonnymq.epoch(now()))
    from unnest(p_channels, p_dequeue_ats, p_delays_ms) as i (channel, dequeue_at, delay_ms)
  );

  insert into lonnymq.message (id, channel, content, dequeue_at, created_at, kind, headers)
  select i.id, i.channel, i.content, i.dequeue_at, v_now, i.kind, i.headers
  from unnest(v_ids, p_channels, p_contents, v_ats, p_keys, p_kinds, p_headers, v_answers)
    as i (id, channel, content, dequeue_at, key, kind, headers, answer)
  where i.answer = 'created' and i.key is null;
  for v_new in
    select i.*
    from unnest(v_ids, p_channels, p_contents, v_ats, p_keys, p_kinds, p_headers, v_answers)
      with ordinality as i (id, channel, content, dequeue_at, key, kind, headers, answer, ordinal)
    where i.answer = 'created' and i.key is not null
    order by i.channel collate "C", i.key collate "C"
  loop
    loop
      insert into lonnymq.message
        (id, channel, content, dequeue_at, created_at, key, kind, headers)
      values
        (v_new.id, v_new.channel, v_new.content, v_new.dequeue_at, v_now, v_new.key, v_new.kind,
          v_new.headers)
      on conflict (channel, key) where key is not null do nothing;
      exit when found;
      select m.id into id from lonnymq.message m
      where m.channel = v_new.channel and m.key = v_new.key;
      if id is not null then
        v_answers[v_new.ordinal] := 'duplicate';
        v_ids[v_new.ordinal] := id;
        exit;
      end if;
      -- The holder was finished between the two statements: the key is free again.
    end loop;
  end loop;

  insert into lonnymq.change (channel, dequeue_at, message_id, size, added, notified)
  select f.channel, f.dequeue_at, f.id,
    case when f.max_size is not null or v_is_fixed then f.created else 0 end,
    case when f.max_size is not null or v_is_fixed then 0 else f.created end,
    lonnymq.channel_notify(f.channel, f.dequeue_at)
  from (
    select distinct on (i.channel) i.channel, i.dequeue_at, i.id, i.max_size,
      count(*) over (partition by i.channel) as created
    from unnest(p_channels, v_ats, v_ids, v_max_sizes, v_answers)
      as i (channel, dequeue_at, id, max_size, answer)
    where i.answer = 'created'
    order by i.channel, i.dequeue_at, i.id
  ) f;

  return query
  select i.ordinal::integer, i.answer,
    case when i.answer in ('created', 'duplicate') then v_ids[i.first] end, i.reason, i.size,
    i.max_size
  from unnest(v_answers, v_firsts, v_reasons, v_sizes, v_max_sizes)
    with ordinality as i (answer, first, reason, size, max_size, ordinal)
  order by i.ordinal;
end
$$;

comment on function lonnymq.message_create_each(
  text[], bytea[], bigint[], bigint[], text[], text[], jsonb[]
) is
'The careful half of message_create_many: keys, capacities, channels being released.';
