-- Lists channels in a given state, by an index: paused, retiring, saturated and throttled channels are found
-- however many channels there are. Scheduled channels are those among the 5,000 that become due next.
create or replace function lonnymq.channel_in_state(p_state text, p_limit integer default 1000)
returns table (channel text)
language plpgsql
stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 1000);
  if p_state = 'ready' then
    return query
    select c.name from (
      select p.channel_id from lonnymq.channel_position p
      where p.seat is not null order by p.seat limit p_limit
    ) p
    cross join lateral (select c.name from lonnymq.channel c where c.id = p.channel_id limit 1) c;
  elsif p_state = 'scheduled' then
    return query
    select c.name from (
      select p.channel_id from (
        select p.channel_id, p.hold from lonnymq.channel_position p
        where p.wake_at is not null order by p.wake_at limit 5000
      ) p
      where p.hold is null
      limit p_limit
    ) p
    cross join lateral (select c.name from lonnymq.channel c where c.id = p.channel_id limit 1) c;
  elsif p_state in ('saturated', 'throttled') then
    return query
    select h.channel from lonnymq.channel_held(p_state, p_limit) h;
  elsif p_state = 'idle' then
    return query
    select c.name from (
      select p.channel_id from lonnymq.channel_position p
      where p.idle_at is not null order by p.idle_at limit p_limit
    ) p
    cross join lateral (select c.name from lonnymq.channel c where c.id = p.channel_id limit 1) c;
  elsif p_state = 'paused' then
    return query
    select s.name from lonnymq.channel_setting s where s.paused order by s.name limit p_limit;
  elsif p_state = 'retiring' then
    return query
    select s.name from lonnymq.channel_setting s where s.retiring order by s.name limit p_limit;
  else
    raise exception using errcode = 'LM001',
      message = format('there is no state %s', quote_nullable(left(p_state, 100))),
      hint = 'States: ready, scheduled, throttled, saturated, paused, retiring, idle.';
  end if;
end
$$;

comment on function lonnymq.channel_in_state(text, integer) is
'Lists channels in a given state.';
