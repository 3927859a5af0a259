-- Stores one message that was found to be sound, under the id given or the next one: what
-- message_create and message_create_many have in common. See message_create.
create or replace function lonnymq.message_add(
  p_id bigint,
  p_channel text,
  p_content bytea,
  p_dequeue_at bigint,
  p_delay_ms bigint,
  p_key text,
  p_kind text,
  p_headers jsonb,
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
  v_dequeue_at bigint;
  v_channel record;
  v_is_sized boolean;
begin
  v_dequeue_at := lonnymq.message_due(p_dequeue_at, p_delay_ms, lonnymq.epoch(), lonnymq.epoch(now()));

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
    select m.id into id from lonnymq.message m where m.channel = p_channel and m.key = p_key;
    answer := case
      when id is not null then 'duplicate'
      when not v_channel.retiring and v_channel.when_full = 'drop' then 'dropped'
      else 'rejected'
    end;
    reason := case when id is not null then null when v_channel.retiring then 'retiring'
      else 'full' end;
    return;
  end if;

  if p_id is null then
    p_id := nextval('lonnymq.message_id_seq');
  end if;
  if p_key is null then
    insert into lonnymq.message (id, channel, content, dequeue_at, created_at, kind, headers)
    values (p_id, p_channel, p_content, v_dequeue_at, lonnymq.epoch(), p_kind, p_headers);
  else
    loop
      insert into lonnymq.message
        (id, channel, content, dequeue_at, created_at, key, kind, headers)
      values
        (p_id, p_channel, p_content, v_dequeue_at, lonnymq.epoch(), p_key, p_kind, p_headers)
      on conflict (channel, key) where key is not null do nothing;
      exit when found;
      select m.id into id from lonnymq.message m where m.channel = p_channel and m.key = p_key;
      if id is not null then
        answer := 'duplicate';
        return;
      end if;
      -- The holder was finished between the two statements: the key is free again.
    end loop;
  end if;

  insert into lonnymq.change (channel, dequeue_at, message_id, size, added, notified)
  values (p_channel, v_dequeue_at, p_id, v_is_sized::integer, 1 - v_is_sized::integer,
    lonnymq.channel_notify(p_channel, v_dequeue_at));
  answer := 'created';
  id := p_id;
  size := size + 1;
end
$$;

comment on function lonnymq.message_add(
  bigint, text, bytea, bigint, bigint, text, text, jsonb
) is
'Stores one message that was found to be sound.';
