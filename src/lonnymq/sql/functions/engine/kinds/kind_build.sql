-- Goes on building the ring of a filter, under the fold lock, for 50 ms: every channel that has messages of the kinds
-- gets a seat, and the walk finds out the rest. Changes that are folded meanwhile are in the ring already, and changes
-- that are not yet folded will be: kind_apply_changes.
create or replace function lonnymq.kind_build(p_filter lonnymq.kind_filter)
returns lonnymq.kind_filter
language plpgsql
as $$
#variable_conflict use_column
declare
  v_stop timestamptz := clock_timestamp() + interval '50 milliseconds';
  v_channels text[];
  v_old tid[];
  v_new lonnymq.kind_position[];
begin
  while p_filter.built < cardinality(p_filter.kinds) and clock_timestamp() < v_stop loop
    with recursive step as (
      select p_filter.built_channel as channel, 0 as place
      union all
      select (
          select m.channel from lonnymq.message m
          where coalesce(m.kind, '') collate "C" = p_filter.kinds[p_filter.built + 1]
            and m.channel > s.channel
          order by m.channel limit 1
        ), s.place + 1
      from step s where s.channel is not null and s.place < 200
    )
    select array_agg(s.channel order by s.place) into v_channels from step s where s.place > 0;
    select array_agg(p.tid), array_agg(row(
      c.id, p_filter.id, null, nextval('lonnymq.seat_seq'), null, -9223372036854775808, 0, false
    )::lonnymq.kind_position)
    into v_old, v_new
    from unnest(v_channels) as i (name)
    cross join lateral (select c.id from lonnymq.channel c where c.name = i.name limit 1) c
    left join lateral (
      select p.ctid as tid from lonnymq.kind_position p
      where p.channel_id = c.id and p.filter_id = p_filter.id order by p.version desc limit 1
    ) p on true;
    perform lonnymq.kind_position_move(v_old, v_new);
    if v_channels[cardinality(v_channels)] is null then
      p_filter.built := p_filter.built + 1;
      p_filter.built_channel := '';
    else
      p_filter.built_channel := v_channels[cardinality(v_channels)];
    end if;
  end loop;
  update lonnymq.kind_filter f set built = p_filter.built, built_channel = p_filter.built_channel
  where f.id = p_filter.id;
  return p_filter;
end
$$;

comment on function lonnymq.kind_build(lonnymq.kind_filter) is
'Goes on building the ring of a filter.';
