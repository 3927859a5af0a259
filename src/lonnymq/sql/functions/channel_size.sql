-- How many messages a channel with a capacity holds: what was folded, and what is committed but not
-- folded yet, less those that went without telling (size_check). All is read from one snapshot, so that
-- nothing counts twice.
-- Where counting has not begun (recount_after is 0), because the capacity is new or messages came in by
-- COPY a moment ago, they are counted one by one, up to p_most.
create or replace function lonnymq.channel_size(
  p_channel text, p_channel_id bigint, p_is_folded boolean, p_recount_after xid8, p_most bigint
)
returns bigint
language plpgsql
stable
as $$
declare
  v_tick lonnymq.tick;
  v_size bigint;
  v_is_uncounted boolean := true;
begin
  select * into v_tick from lonnymq.tick_now();
  if p_is_folded and p_recount_after is distinct from '0'::xid8 then
    select coalesce(sum(n.size), 0), coalesce(bool_or(n.recount), false) into v_size, v_is_uncounted
    from (
      select n.size, n.recount from lonnymq.note n
      where n.channel = p_channel and (n.size <> 0 or n.recount) and n.xid >= v_tick.until
      union all
      select n.size, n.recount from lonnymq.note n
      where n.channel = p_channel and (n.size <> 0 or n.recount) and n.xid = any (v_tick.again)
        and n.xid < v_tick.until
      union all
      -- Of those who ran when counting began, some knew of no capacity.
      select n.added, false from lonnymq.note n
      where p_recount_after is not null and n.quiet = any ('{false,true}') and n.added <> 0
        and n.channel = p_channel and n.xid >= v_tick.until
      union all
      select n.added, false from lonnymq.note n
      where p_recount_after is not null and n.quiet = any ('{false,true}') and n.added <> 0
        and n.channel = p_channel and n.xid = any (v_tick.again) and n.xid < v_tick.until
    ) n;
  end if;
  if v_is_uncounted then
    return (
      select count(*) from (select from lonnymq.message m where m.channel = p_channel limit p_most) m
    );
  end if;
  return v_size + coalesce((
    select m.size from lonnymq.meter m
    where m.channel_id = p_channel_id order by m.version desc limit 1
  ), 0) - coalesce((
    select count(*) from lonnymq.channel c cross join unnest(c.early_ids) as i (id)
    where c.id = p_channel_id
      and (select m.id from lonnymq.message m where m.id = i.id limit 1) is null
  ), 0);
end
$$;

comment on function lonnymq.channel_size(text, bigint, boolean, xid8, bigint) is
'How many messages a channel with a capacity holds.';
