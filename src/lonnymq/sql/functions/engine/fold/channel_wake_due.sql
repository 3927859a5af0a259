-- Gives a seat to channels whose time has come: a message is due, or a rate allows the next. Looks
-- at what was to wake after p_from, and at no more than p_limit channels.
-- Answers: up to when it has looked at everything (mark), and whether there are more: also where another
--   call holds a channel.
-- Locks: the channels, without waiting.
create or replace function lonnymq.channel_wake_due(
  p_from bigint, p_now bigint, p_limit integer, out mark bigint, out is_more boolean
)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_ids bigint[];
  v_old tid[];
  v_new lonnymq.channel_position[];
begin
  mark := greatest(p_from, p_now);
  is_more := false;
  if not exists (select from lonnymq.channel_position p where p.wake_at > p_from and p.wake_at <= p_now) then
    return;
  end if;
  -- Lock first, look after.
  select array_agg(l.id) into v_ids
  from (
    select c.id
    from (
      select p.channel_id from lonnymq.channel_position p
      where p.wake_at > p_from and p.wake_at <= p_now
      order by p.wake_at
    ) p
    cross join lateral (
      select c.id from lonnymq.channel c where c.id = p.channel_id for update skip locked
    ) c
    limit p_limit
  ) l;
  with due as materialized (
    select p.*
    from unnest(v_ids) as i (id)
    cross join lateral (
      select p.ctid as tid, p.* from lonnymq.channel_position p
      where p.channel_id = i.id order by p.version desc limit 1
    ) p
    where p.wake_at <= p_now
    order by p.wake_at, random()
  )
  select array_agg(d.tid), array_agg(row(
    d.channel_id, d.version + 1, nextval('lonnymq.seat_seq'), null, d.floor_at, d.floor_id, null,
    null, d.gap_at, d.gap_id, d.gap_end_at, d.gap_end_id
  )::lonnymq.channel_position)
  into v_old, v_new
  from due d;
  if v_old is not null then
    perform lonnymq.channel_position_move(v_old, v_new);
  end if;
  select p.wake_at - 1 into mark from lonnymq.channel_position p
  where p.wake_at > p_from and p.wake_at <= p_now order by p.wake_at limit 1;
  is_more := found;
  mark := coalesce(mark, p_now);
end
$$;

comment on function lonnymq.channel_wake_due(bigint, bigint, integer) is
'Gives a seat to channels whose message or rate is due.';
