-- Counts leases that were taken before there was a limit to count them in, and marks them as
-- counted: of one channel (bit 1) or of the whole queue (channel null, bit 2).
-- Every lease is in some row of lease, so this costs what is leased, not what is waiting.
create or replace function lonnymq.lease_count(p_channel text, p_bit integer)
returns bigint
language plpgsql
as $$
declare
  v_ids bigint[];
begin
  select array_agg(h.id) into v_ids
  from (
    select m.id
    from (select distinct i.id from lonnymq.lease l cross join unnest(l.message_ids) as i (id)) i
    join lonnymq.message m on m.id = i.id
    where m.token is not null and m.slot & p_bit = 0
      and (p_channel is null or m.channel = p_channel)
    order by m.id
    for update of m skip locked
  ) h;
  update lonnymq.message m set slot = m.slot | p_bit
  where m.id = any (v_ids) and m.token is not null;
  return coalesce(cardinality(v_ids), 0);
end
$$;

comment on function lonnymq.lease_count(text, integer) is
'Counts leases that were taken before there was a limit to count them in.';
