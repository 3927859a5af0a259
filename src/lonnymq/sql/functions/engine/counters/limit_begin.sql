-- Begins to count in channels that were given a first limit. The caller holds the rows of the channels
-- and the fold lock. Channel 0 is the queue. Leases that were not counted before count from now on until
-- they end (early_lease, limit_check).
--
-- Answers: whether counting has begun in any channel (limit_must_wait).
create or replace function lonnymq.limit_begin(p_channel_ids bigint[])
returns boolean
language plpgsql
as $$
declare
  v_channel record;
  v_found bigint;
  v_has_begun boolean := false;
begin
  for v_channel in
    select i.id, coalesce(l.epoch, q.limit_epoch) as epoch, l.name
    from unnest(p_channel_ids) as i (id)
    cross join lonnymq.queue q
    left join lateral lonnymq.channel_limit(i.id) l on true
    where q.only_row
  loop
    continue when lonnymq.limit_must_wait(v_channel.id, v_channel.epoch);
    -- A lease that has taken the place of one that counts, and has ended, is counted by that one.
    with found as (
      insert into lonnymq.early_lease as u (channel_id, message_id, token)
      select v_channel.id, m.id, m.token
      from lonnymq.lease_ids() l
      cross join lateral (select * from lonnymq.message m where m.id = l.id limit 1) m
      where m.token is not null
        and case when v_channel.id = 0 then m.slot & 2 = 0
          else m.channel = v_channel.name and m.slot & 1 = 0 end
      on conflict (channel_id, message_id) do update set token = excluded.token
      where u.token <> excluded.token
      returning u.xmax = 0 as is_new
    )
    select count(*) filter (where f.is_new) into v_found from found f;
    perform lonnymq.channel_counter_add(v_channel.id, v_found, 0, v_channel.epoch);
    v_has_begun := true;
  end loop;
  return v_has_begun;
end
$$;

comment on function lonnymq.limit_begin(bigint[]) is
'Begins to count in channels that were given a first limit.';
