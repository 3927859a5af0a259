-- Gives a seat to channels whose time has come: a message is due, or a rate allows the next. Looks
-- at what was to wake after p_from.
-- Answers: whether there are more than p_limit.
create or replace function lonnymq.channel_wake(p_from bigint, p_now bigint, p_limit integer)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
declare
  v_ids bigint[];
  v_is_more boolean;
  v_old tid[];
  v_new lonnymq.place[];
begin
  select array_agg(d.channel_id) into v_ids
  from (
    select p.channel_id from lonnymq.place p
    where p.wake_at > p_from and p.wake_at <= p_now
    order by p.wake_at
    limit p_limit
  ) d;
  if v_ids is null then
    return false;
  end if;
  v_is_more := cardinality(v_ids) >= p_limit;
  -- Lock first, look after.
  select array_agg(l.id) into v_ids
  from (
    select c.id from lonnymq.channel c where c.id = any (v_ids) order by c.id
    for update skip locked
  ) l;
  with due as materialized (
    select p.*
    from unnest(v_ids) as i (id)
    cross join lateral (
      select p.ctid as tid, p.* from lonnymq.place p
      where p.channel_id = i.id order by p.version desc limit 1
    ) p
    where p.wake_at <= p_now
    order by p.wake_at, random()
  )
  select array_agg(d.tid), array_agg(row(
    d.channel_id, d.version + 1, nextval('lonnymq.seat_seq'), null, d.floor_at, d.floor_id, null,
    null
  )::lonnymq.place)
  into v_old, v_new
  from due d;
  if v_old is not null then
    perform lonnymq.place_move(v_old, v_new);
  end if;
  return v_is_more;
end
$$;

comment on function lonnymq.channel_wake(bigint, bigint, integer) is
'Gives a seat to channels whose time has come.';
