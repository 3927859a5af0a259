-- Begins to count in channels that were given a first limit. The caller holds the rows of the channels
-- and the fold lock. Channel 0 is the queue. Leases that were not counted before count from now on until
-- they end (early_lease, limit_check).
--
-- Answers: whether counting has begun in any channel (limit_must_wait).
create or replace function lonnymq.limit_begin(p_channel_ids bigint[])
returns boolean
language plpgsql
as $$
#variable_conflict use_column
declare
  v_ids bigint[];
  v_epochs bigint[];
  v_names text[];
  v_waiting bigint[];
  v_counts bigint[];
begin
  select array_agg(i.id), array_agg(coalesce(l.epoch, q.limit_epoch))
  into v_ids, v_epochs
  from unnest(p_channel_ids) as i (id)
  cross join lonnymq.queue q
  left join lateral lonnymq.channel_limit(i.id) l on true
  where q.only_row;
  v_waiting := lonnymq.limit_must_wait(v_ids, v_epochs);
  select array_agg(i.id), array_agg(i.epoch), array_agg(c.name)
  into v_ids, v_epochs, v_names
  from unnest(v_ids, v_epochs) as i (id, epoch)
  left join lonnymq.channel c on c.id = i.id
  where i.id <> all (v_waiting);
  if v_ids is null then
    return false;
  end if;
  -- A lease that has taken the place of one that counts, and has ended, is counted by that one.
  with found as (
    insert into lonnymq.early_lease as u (channel_id, message_id, token)
    select i.id, m.id, m.token
    from lonnymq.lease_ids() l
    cross join lateral (select * from lonnymq.message m where m.id = l.id limit 1) m
    cross join lateral (
      select v_ids[array_position(v_names, m.channel)] as id where m.slot & 1 = 0
      union all
      select 0 where 0 = any (v_ids) and m.slot & 2 = 0
    ) i
    where m.token is not null and i.id is not null
    on conflict (channel_id, message_id) do update set token = excluded.token
    where u.token <> excluded.token
    returning u.channel_id, u.xmax = 0 as is_new
  )
  select array_agg(f.leases) into v_counts
  from (
    select (select count(*) from found f where f.channel_id = i.id and f.is_new) as leases
    from unnest(v_ids) with ordinality as i (id, place)
    order by i.place
  ) f;
  perform lonnymq.channel_counter_add(i.id, i.leases, 0, i.epoch)
  from unnest(v_ids, v_counts, v_epochs) as i (id, leases, epoch);
  return true;
end
$$;

comment on function lonnymq.limit_begin(bigint[]) is
'Begins to count in channels that were given a first limit.';
