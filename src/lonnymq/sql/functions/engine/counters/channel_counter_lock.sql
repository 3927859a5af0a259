-- Locks the counters of channels, without waiting.
-- Answers: the channels whose counter is locked now, or that have none. The caller has locked the rows of the channels,
--   so nobody else gives them a counter.
create or replace function lonnymq.channel_counter_lock(p_ids bigint[])
returns bigint[]
language plpgsql
as $$
begin
  return array(
    select i.id
    from unnest(p_ids) as i (id)
    left join lateral (
      select m.channel_id from lonnymq.channel_counter m
      where m.channel_id = i.id order by m.version desc limit 1
      for update skip locked
    ) m on true
    where m.channel_id is not null
      or (select n.channel_id from lonnymq.channel_counter n where n.channel_id = i.id limit 1) is null
  );
end
$$;

comment on function lonnymq.channel_counter_lock(bigint[]) is
'Locks the counters of channels, without waiting.';
