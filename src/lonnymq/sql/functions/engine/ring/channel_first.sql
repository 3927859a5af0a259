-- The first message that waits in a channel, above the floor and beside the gap, and has not expired by p_now.
-- PostgreSQL inlines this function into the calling query.
create or replace function lonnymq.channel_first(
  p_channel text, p_floor_at bigint, p_floor_id bigint, p_gap_at bigint, p_gap_id bigint,
  p_gap_end_at bigint, p_gap_end_id bigint, p_now bigint
)
returns table (dequeue_at bigint, id bigint, created_at bigint, due_at bigint)
language sql
stable
rows 1
as $$
  select m.dequeue_at, m.id, m.created_at, lonnymq.message_due_at(m.dequeue_at, m.priority)
  from lonnymq.channel_ranges(p_floor_at, p_floor_id, p_gap_at, p_gap_id, p_gap_end_at,
    p_gap_end_id) r
  cross join lateral (
    select m.dequeue_at, m.id, m.created_at, m.priority from lonnymq.message m
    where m.channel = p_channel and m.token is null
      and (m.expires_at > p_now) is not false
      and (m.dequeue_at, m.id) >= (r.first_at, r.first_id)
      and (m.dequeue_at, m.id) <= (r.last_at, r.last_id)
    order by m.dequeue_at, m.id
    limit 1
  ) m
  limit 1
$$;

comment on function lonnymq.channel_first(
  text, bigint, bigint, bigint, bigint, bigint, bigint, bigint
) is
'The first message that waits in a channel.';
