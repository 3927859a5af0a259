-- The second half of message_create_many: keys, capacities, channels that are being retired, options. Ids are
-- assigned in the order of the arrays, and in that order messages that are no duplicates use up a
-- capacity. Keys are inserted in the order of channel and key, so that two calls with equal keys cannot
-- deadlock. Messages without a key are inserted in the order of the arrays. Each channel gets a single
-- change.
--
-- A key that another transaction has inserted meanwhile is a duplicate, and the capacity goes to that
-- transaction.
--
-- Rows are joined by hash: a nested loop takes seconds for 10,000.
create or replace function lonnymq.message_create_each(
  p_channels text[], p_contents bytea[], p_dequeue_ats bigint[], p_keys text[], p_kinds text[],
  p_headers jsonb[], p_options lonnymq.message_option[]
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
  v_holders bigint[];
  v_ats bigint[];
  v_answers text[];
  v_firsts integer[];
  v_reasons text[];
  v_sizes bigint[];
  v_max_sizes bigint[];
  v_new record;
  v_message lonnymq.message;
begin
  -- Who has expired has its key no more.
  perform lonnymq.key_holder(i.channel, i.key, v_now) from unnest(p_channels, p_keys) as i (channel, key)
  where exists (select from lonnymq.message m where m.expires_at <= v_now) and i.key is not null;
  select array_agg(j.id), array_agg(j.holder_id), array_agg(j.answer), array_agg(j.first), array_agg(j.reason),
    array_agg(j.size), array_agg(j.max_size)
  into v_ids, v_holders, v_answers, v_firsts, v_reasons, v_sizes, v_max_sizes
  from lonnymq.message_judge(p_channels, p_keys) j;
  v_ats := array(
    select lonnymq.message_rank(i.dequeue_at, i.priority, v_now)
    from unnest(p_dequeue_ats, p_options) as i (dequeue_at, expires_at, max_attempts, priority)
  );

  insert into lonnymq.message (
    id, channel, content, dequeue_at, created_at, kind, headers, expires_at, max_attempts, priority
  )
  select i.id, i.channel, i.content, i.dequeue_at, v_now, i.kind, i.headers, i.expires_at, i.max_attempts,
    i.priority
  from unnest(v_ids, p_channels, p_contents, v_ats, p_keys, p_kinds, p_headers, v_answers, p_options)
    as i (id, channel, content, dequeue_at, key, kind, headers, answer, expires_at, max_attempts, priority)
  where i.answer = 'created' and i.key is null;
  for v_new in
    select i.*
    from unnest(v_ids, p_channels, p_contents, v_ats, p_keys, p_kinds, p_headers, v_answers)
      with ordinality as i (id, channel, content, dequeue_at, key, kind, headers, answer, ordinal)
    where i.key is not null and (i.answer = 'created' or (i.answer = 'duplicate' and p_options is not null))
    order by i.channel collate "C", i.key collate "C", i.ordinal
  loop
    v_message := lonnymq.message_new(v_new.id, v_new.channel, v_new.content, v_new.dequeue_at, v_now, v_new.key,
      p_options[v_new.ordinal]);
    v_message.kind := v_new.kind;
    v_message.headers := v_new.headers;
    select k.answer, k.id into answer, id from lonnymq.key_insert(v_message, p_options[v_new.ordinal]) k;
    v_answers[v_new.ordinal] := answer;
    v_holders[v_new.ordinal] := id;
    v_firsts[v_new.ordinal] := v_new.ordinal;
  end loop;

  -- With a priority: looked at again, and moved up, when it is due (message_promote).
  insert into lonnymq.change (channel, lease_until, message_ids)
  select '', i.dequeue_at, array_agg(i.id)
  from unnest(v_ids, v_ats, v_answers, p_options) as i (id, dequeue_at, answer, expires_at, max_attempts, priority)
  where i.answer = 'created' and i.priority > 0 and i.dequeue_at > v_now
  group by i.dequeue_at;
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
    case when i.answer = 'created' then i.id when i.answer not in ('dropped', 'rejected') then v_holders[i.first] end, i.reason, i.size,
    i.max_size
  from unnest(v_ids, v_answers, v_firsts, v_reasons, v_sizes, v_max_sizes)
    with ordinality as i (id, answer, first, reason, size, max_size, ordinal)
  order by i.ordinal;
end
$$;

comment on function lonnymq.message_create_each(
  text[], bytea[], bigint[], text[], text[], jsonb[], lonnymq.message_option[]
) is
'The second half of message_create_many: keys, capacities, channels that are being retired.';
