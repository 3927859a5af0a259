-- Adds to the counters of many channels whose rows the caller has locked: see channel_counter_add.
create or replace function lonnymq.channel_counter_move(
  p_ids bigint[], p_in_flights bigint[], p_sizes bigint[]
)
returns void
language plpgsql
as $$
declare
  v_old tid[];
  v_new lonnymq.channel_counter[];
begin
  select array_agg(m.tid), array_agg(row(
    i.id, coalesce(m.version, 0) + 1, coalesce(m.in_flight, 0) + i.in_flight,
    coalesce(m.size, 0) + i.size, coalesce(m.tat, 0), coalesce(m.epoch, 0)
  )::lonnymq.channel_counter)
  into v_old, v_new
  from unnest(p_ids, p_in_flights, p_sizes) as i (id, in_flight, size)
  left join lateral (
    select m.ctid as tid, m.* from lonnymq.channel_counter m
    where m.channel_id = i.id order by m.version desc limit 1
  ) m on true;
  delete from lonnymq.channel_counter m where m.ctid = any (v_old);
  insert into lonnymq.channel_counter (channel_id, version, in_flight, size, tat, epoch)
  select n.channel_id, n.version, n.in_flight, n.size, n.tat, n.epoch from unnest(v_new) as n;
end
$$;

comment on function lonnymq.channel_counter_move(bigint[], bigint[], bigint[]) is
'Adds to the counters of many locked channels.';
