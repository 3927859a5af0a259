-- Deletes channels that are no longer used, under the fold lock: retired channels that are empty, and
-- channels without settings that have been idle for long. A channel with a message, a lease or an
-- unfolded change stays.
-- Answers: the number of deleted channels.
create or replace function lonnymq.channel_forget(p_now bigint, p_limit integer)
returns bigint
language plpgsql
as $$
declare
  v_checkpoint lonnymq.checkpoint;
  v_names text[];
  v_released text[];
  v_ids bigint[];
  v_locked bigint[];
begin
  -- Candidates: retired channels without messages, and channels that have been idle for long.
  select array_agg(d.name) into v_names
  from (
    (
      select s.name from lonnymq.channel_setting s
      where s.retiring
        and (select m.id from lonnymq.message m where m.channel = s.name limit 1) is null
      order by s.name limit p_limit
    )
    union all
    select c.name
    from (
      select p.channel_id from lonnymq.channel_position p
      where p.idle_at <= p_now - (select q.channel_idle_ms from lonnymq.queue q where q.only_row)
      order by p.idle_at limit p_limit
    ) p
    cross join lateral (select * from lonnymq.channel c where c.id = p.channel_id limit 1) c
  ) d;
  if v_names is null then
    return 0;
  end if;

  perform lonnymq.channel_keep(v_names, p_now);
  select array_agg(d.id), array_agg(d.name) into v_ids, v_names
  from (
    select c.id, c.name
    from lonnymq.channel c
    where c.name = any (v_names)
      and (select m.id from lonnymq.message m where m.channel = c.name limit 1) is null
    for update skip locked
  ) d;
  -- Settings that somebody is changing at this moment are left, and the channel with them. Those of a channel
  -- that is not done with are not locked: a setter would wait for nothing.
  select array_agg(l.name) into v_released
  from (
    select s.name from lonnymq.channel_setting s
    where s.name = any (v_names) and s.retiring
    for update skip locked
  ) l;
  -- Lock first, look after: something may have come meanwhile.
  v_locked := lonnymq.channel_counter_lock(v_ids);
  select * into v_checkpoint from lonnymq.checkpoint_now();
  select array_agg(c.id), array_agg(c.name) into v_ids, v_names
  from unnest(v_ids, v_names) as c (id, name)
  where (select m.id from lonnymq.message m where m.channel = c.name limit 1) is null
    and c.id = any (v_locked)
    and (
      select m.channel_id from lonnymq.channel_counter m
      where m.channel_id = c.id and (m.in_flight <> 0 or m.tat > p_now) limit 1
    ) is null
    and (
      c.name = any (v_released)
      or (select s.name from lonnymq.channel_setting s where s.name = c.name) is null
    )
    and c.name <> all (array(
      select n.channel from lonnymq.change n where n.can_wait = any ('{false,true}') and n.xid >= v_checkpoint.until_xid
      union all
      select n.channel from lonnymq.change n
      where n.can_wait = any ('{false,true}') and n.xid = any (v_checkpoint.running_xids)
    ));
  delete from lonnymq.limit_wait w
  where w.channel_id = any (v_ids || array(select -i.id from unnest(v_ids) as i (id)));
  delete from lonnymq.channel_counter m where m.channel_id = any (v_ids);
  delete from lonnymq.channel_position p where p.channel_id = any (v_ids);
  delete from lonnymq.channel_total t where t.channel = any (v_names);
  delete from lonnymq.kind_position p where p.channel_id = any (v_ids);
  delete from lonnymq.channel c where c.id = any (v_ids);
  delete from lonnymq.channel_setting s where s.name = any (v_names) and s.retiring;
  return coalesce(cardinality(v_ids), 0);
end
$$;

comment on function lonnymq.channel_forget(bigint, integer) is
'Deletes channels that are no longer used.';
