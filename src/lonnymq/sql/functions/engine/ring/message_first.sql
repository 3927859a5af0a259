-- The first message of a channel that waits, looked for above the channel's floor.
create or replace function lonnymq.message_first(p_channel text)
returns table (dequeue_at bigint, created_at bigint)
language sql
stable
rows 1
as $$
  select m.due_at, m.created_at
  from (select) only_row
  left join lonnymq.channel c on c.name = p_channel
  left join lateral lonnymq.channel_position_now(c.id) p on true
  cross join lateral lonnymq.channel_first(p_channel, coalesce(p.floor_at, -9223372036854775808),
    coalesce(p.floor_id, 0), p.gap_at, p.gap_id, p.gap_end_at, p.gap_end_id, null) m
$$;

comment on function lonnymq.message_first(text) is
'The first message of a channel that waits.';
