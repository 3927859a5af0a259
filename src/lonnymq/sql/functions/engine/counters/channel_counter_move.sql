-- Adds to the counters of many channels that the caller has locked (channel_counter_lock).
-- A row is written in place, which leaves its index alone. About every sixtieth time the row gets a new version: readers
-- take the newest version, so of the dead rows that an open snapshot keeps they pass those of a single version.
create or replace function lonnymq.channel_counter_move(
  p_ids bigint[], p_in_flights bigint[], p_sizes bigint[]
)
returns void
language plpgsql
as $$
declare
  v_count bigint;
begin
  update lonnymq.channel_counter m
  set in_flight = m.in_flight + i.in_flight, size = m.size + i.size,
    version = m.version + (random() < 0.016)::integer
  from unnest(p_ids, p_in_flights, p_sizes) as i (id, in_flight, size)
  cross join lateral (
    select n.ctid as tid from lonnymq.channel_counter n
    where n.channel_id = i.id order by n.version desc limit 1
  ) n
  where m.ctid = n.tid;
  get diagnostics v_count = row_count;
  if v_count < cardinality(p_ids) then
    insert into lonnymq.channel_counter (channel_id, version, in_flight, size)
    select i.id, 1, i.in_flight, i.size
    from unnest(p_ids, p_in_flights, p_sizes) as i (id, in_flight, size)
    where (select n.channel_id from lonnymq.channel_counter n where n.channel_id = i.id limit 1) is null;
  end if;
end
$$;

comment on function lonnymq.channel_counter_move(bigint[], bigint[], bigint[]) is
'Adds to the counters of many locked channels.';
