-- Gives channels a seat in the rings of filters when their time has come, as channel_wake_due does in the ring of all.
-- Looks at what was to wake after p_from, and at no more than p_limit channels of a filter.
-- Answers: up to when it has looked at everything (mark), and whether there are more.
create or replace function lonnymq.kind_wake_due(
  p_from bigint, p_now bigint, p_limit integer, out mark bigint, out is_more boolean
)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_old tid[];
  v_new lonnymq.kind_position[];
begin
  select array_agg(d.tid), array_agg(row(
    d.channel_id, d.filter_id, null, nextval('lonnymq.seat_seq'), null, d.floor_at, d.floor_id, false
  )::lonnymq.kind_position)
  into v_old, v_new
  from (
    select p.*
    from lonnymq.kind_filter f
    cross join lateral (
      select p.ctid as tid, p.* from lonnymq.kind_position p
      where p.filter_id = f.id and p.wake_at > p_from and p.wake_at <= p_now
      order by p.wake_at limit p_limit
    ) p
    order by p.wake_at, random()
  ) d;
  if v_old is not null then
    perform lonnymq.kind_position_move(v_old, v_new);
  end if;
  select min(p.wake_at) - 1 into mark
  from lonnymq.kind_filter f
  cross join lateral (
    select p.wake_at from lonnymq.kind_position p
    where p.filter_id = f.id and p.wake_at > p_from and p.wake_at <= p_now
    order by p.wake_at limit 1
  ) p;
  is_more := mark is not null;
  mark := coalesce(mark, greatest(p_from, p_now));
end
$$;

comment on function lonnymq.kind_wake_due(bigint, bigint, integer) is
'Gives channels a seat in the rings of filters when their time has come.';
