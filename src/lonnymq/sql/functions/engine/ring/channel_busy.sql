-- The channels in which something goes on now, up to p_limit of each sort: those with the most messages,
-- those in the ring, those that wake next, those with leases, those that are paused, those not folded yet.
create or replace function lonnymq.channel_busy(p_limit integer)
returns table (channel text)
language sql
stable
as $$
  select b.channel collate "C"
  from (
    select r.channel from lonnymq.channel_rank('waiting', p_limit) r
    union all
    select i.channel from unnest('{ready,paused}'::text[]) as s (state)
    cross join lateral lonnymq.channel_in_state(s.state, p_limit) i
    union all
    select c.name
    from (
      select p.channel_id from lonnymq.channel_position p
      where p.wake_at is not null order by p.wake_at limit p_limit
    ) p
    cross join lateral (select c.name from lonnymq.channel c where c.id = p.channel_id limit 1) c
    union all
    (
      select m.channel
      from (
        select i.id from lonnymq.lease_latest(p_limit) l cross join unnest(l.message_ids) as i (id)
        limit 10 * p_limit
      ) i
      cross join lateral (
        select m.channel from lonnymq.message m
        where m.id = i.id and m.token is not null limit 1
      ) m
      limit p_limit
    )
    union all
    (
      select distinct n.channel from lonnymq.change_unfolded(10000) n where n.channel <> ''
      limit p_limit  -- a change without a name is of the queue's own settings
    )
  ) b
$$;

comment on function lonnymq.channel_busy(integer) is
'The channels in which something goes on now, up to a number of each sort.';
