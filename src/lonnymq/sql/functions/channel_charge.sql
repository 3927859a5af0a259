-- Counts what was just leased from channels whose rows the caller has locked, and takes the seat of
-- those that are at their limit: a freed slot's note, or the moment the rate allows, brings them back.
create or replace function lonnymq.channel_charge(
  p_names text[], p_taken bigint[], p_now bigint
)
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  with metered as materialized (
    select c.id, c.name, c.burst, c.release_interval_ms, c.max_concurrency, m.version,
      coalesce(m.size, 0) as size,
      coalesce(m.in_flight, 0) + case when c.max_concurrency is null then 0 else i.taken end
        as in_flight,
      case
        when c.release_interval_ms is null or i.taken = 0 then coalesce(m.tat, 0)
        else greatest(coalesce(m.tat, 0), p_now) + i.taken * c.release_interval_ms
      end as tat,
      i.taken
    from unnest(p_names, p_taken) as i (name, taken)
    join lonnymq.channel c on c.name = i.name
    left join lateral (
      select * from lonnymq.meter m where m.channel_id = c.id order by m.version desc limit 1
    ) m on true
  ), added as (
    insert into lonnymq.meter (channel_id, version, in_flight, size, tat)
    select m.id, coalesce(m.version, 0) + 1, m.in_flight, m.size, m.tat
    from metered m
    where m.taken > 0
  ), removed as (
    delete from lonnymq.meter o
    using metered m
    where o.channel_id = m.id and o.version = m.version and m.taken > 0
  )
  update lonnymq.channel c
  set seat = null,
    hold = case when m.in_flight >= m.max_concurrency then 'saturated' else 'throttled' end,
    wake_at = case when m.in_flight >= m.max_concurrency then null
      else m.tat - (m.burst - 1) * m.release_interval_ms end
  from metered m
  where c.name = m.name
    and (m.in_flight >= m.max_concurrency
      or m.tat - (m.burst - 1) * m.release_interval_ms > p_now);
end
$$;

comment on function lonnymq.channel_charge(text[], bigint[], bigint) is
'Counts what was just leased, and takes the seat of channels that are at their limit.';
