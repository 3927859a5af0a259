-- The second half of message_create: a key, a capacity, a channel that is being retired, options of the message.
create or replace function lonnymq.message_create_one(
  p_channel text,
  p_content bytea,
  p_dequeue_at bigint,
  p_key text,
  p_kind text,
  p_headers jsonb,
  p_option lonnymq.message_option,
  out answer text,
  out id bigint,
  out reason text,
  out size bigint,
  out max_size bigint
)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_now bigint := lonnymq.epoch();
  v_rank bigint := lonnymq.message_rank(p_dequeue_at, p_option.priority, v_now);
  v_message lonnymq.message;
  v_channel record;
  v_is_sized boolean;
begin
  v_message := lonnymq.message_new(nextval('lonnymq.message_id_seq'), p_channel, p_content, v_rank, v_now,
    p_key, p_option);
  v_message.kind := p_kind;
  v_message.headers := p_headers;
  select
    case when s.name is not null then s.max_size when c.name is not null
      then c.max_size else q.default_max_size end as max_size,
    coalesce(s.when_full, c.when_full, q.default_when_full) as when_full,
    coalesce(s.retiring, false) as retiring,
    c.id as channel_id,
    c.max_size is not null as is_folded
  into v_channel
  from lonnymq.queue q
  left join lonnymq.channel_setting s on s.name = p_channel
  left join lonnymq.channel c on c.name = p_channel
  where q.only_row;

  max_size := v_channel.max_size;
  -- Whose snapshot is older than its statement may know of no capacity where there is one.
  v_is_sized := max_size is not null or lonnymq.snapshot_is_fixed();
  if max_size is not null then
    size := lonnymq.channel_size(p_channel, v_channel.channel_id, coalesce(v_channel.is_folded, false),
      max_size);
  end if;
  if v_channel.retiring or size >= max_size then
    id := lonnymq.key_holder(p_channel, p_key, v_now);
    answer := case
      when id is not null then coalesce(lonnymq.key_duplicate(v_message, p_option, id), 'duplicate')
      when not v_channel.retiring and v_channel.when_full = 'drop' then 'dropped'
      else 'rejected'
    end;
    reason := case when id is not null then null when v_channel.retiring then 'retiring'
      else 'full' end;
    return;
  end if;

  answer := 'created';
  id := v_message.id;
  if p_key is null then
    insert into lonnymq.message values (v_message.*);
  else
    select k.answer, k.id into answer, id from lonnymq.key_insert(v_message, p_option) k;
    if answer <> 'created' then
      return;
    end if;
  end if;
  insert into lonnymq.change
    (channel, dequeue_at, message_id, last_at, last_id, size, added, notified)
  values (p_channel, v_rank, id, case when p_option.priority > 0 then v_rank end,
    case when p_option.priority > 0 then id end, v_is_sized::integer, 1 - v_is_sized::integer,
    lonnymq.channel_notify(p_channel, v_rank));
  if p_option.priority > 0 and p_dequeue_at > v_now then
    -- Looked at again, and moved up, when it is due (message_promote).
    insert into lonnymq.change (channel, lease_until, message_ids)
    values ('', p_dequeue_at, array[id]);
  end if;
  size := size + 1;
end
$$;

comment on function lonnymq.message_create_one(
  text, bytea, bigint, text, text, jsonb, lonnymq.message_option
) is
'The second half of message_create: keys, capacities, channels that are being retired, options.';
