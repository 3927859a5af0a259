-- Takes away channels that are done with, under the fold lock: released ones that are drained, and
-- ones that nobody has set and that have been idle for long. A channel with a message, a lease or
-- anything uncounted stays.
-- Answers: how many.
create or replace function lonnymq.channel_forget(p_now bigint, p_limit integer)
returns bigint
language plpgsql
as $$
declare
  v_names text[];
begin
  select array_agg(d.name) into v_names
  from (
    select c.name
    from lonnymq.channel c
    where c.name in (
        select s.name from lonnymq.channel_setting s where s.releasing
        union all
        (
          select i.name
          from (
            select p.channel_id from lonnymq.place p
            where p.idle_at <= p_now
              - (select q.channel_idle_ms from lonnymq.queue q where q.only_row)
            order by p.idle_at
            limit p_limit
          ) p
          cross join lateral (select * from lonnymq.channel c where c.id = p.channel_id limit 1) i
          where not exists (select from lonnymq.channel_setting s where s.name = i.name)
        )
      )
      and not exists (select from lonnymq.message m where m.channel = c.name)
      and not exists (select from lonnymq.note n where n.channel = c.name)
      and not exists (
        select from lonnymq.meter m
        where m.channel_id = c.id and (m.in_flight <> 0 or m.tat > p_now)
      )
    limit p_limit
    for update of c skip locked
  ) d;
  if v_names is null then
    return 0;
  end if;
  -- Settings that somebody is changing at this moment are left, and the channel with them.
  select array_agg(n.name) into v_names
  from unnest(v_names) as n (name)
  where not exists (select from lonnymq.channel_setting s where s.name = n.name)
    or n.name in (select s.name from lonnymq.channel_setting s
      where s.name = any (v_names) and s.releasing for update skip locked);
  delete from lonnymq.meter m
  where m.channel_id = any (array(select c.id from lonnymq.channel c where c.name = any (v_names)));
  delete from lonnymq.place p
  where p.channel_id = any (array(select c.id from lonnymq.channel c where c.name = any (v_names)));
  delete from lonnymq.channel c where c.name = any (v_names);
  delete from lonnymq.channel_setting s where s.name = any (v_names) and s.releasing;
  return coalesce(cardinality(v_names), 0);
end
$$;

comment on function lonnymq.channel_forget(bigint, integer) is
'Takes away channels that are done with.';
