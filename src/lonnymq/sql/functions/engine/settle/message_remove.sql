-- Deletes waiting messages, and writes changes with the new sizes of their channels. Messages that
-- another transaction holds stay.
-- Answers: the deleted messages.
create or replace function lonnymq.message_remove(p_ids bigint[])
returns bigint[]
language plpgsql
as $$
declare
  v_is_fixed boolean := lonnymq.snapshot_is_fixed();
  v_gone bigint[];
  v_watched bigint[];
  v_groups bigint[];
begin
  select array_agg(h.id) into v_gone
  from (
    select m.id from lonnymq.message m
    where m.id = any (p_ids) and m.token is null
    order by m.id
    for update skip locked
  ) h;
  with gone as (
    delete from lonnymq.message m where m.id = any (v_gone)
    returning m.id, m.channel, m.watched, m.group_id
  ), counted as (
    select g.channel, count(*) as gone from gone g group by g.channel
  ), changed as (
    insert into lonnymq.change (channel, size, added, can_wait)
    select c.channel, case when s.is_sized then -c.gone else 0 end,
      case when s.is_sized then 0 else -c.gone end, true
    from counted c
    cross join lateral (
      select s.max_size is not null or v_is_fixed as is_sized
      from lonnymq.channel_capacity(c.channel) s
    ) s
  )
  select array_agg(g.id) filter (where g.watched), array_agg(g.group_id) filter (where g.group_id is not null)
  into v_watched, v_groups from gone g;
  if v_watched is not null or v_groups is not null then
    perform lonnymq.message_ended(v_watched, v_groups, 'cancelled');
  end if;
  return coalesce(v_gone, '{}');
end
$$;

comment on function lonnymq.message_remove(bigint[]) is
'Deletes waiting messages, and writes changes with the sizes.';
