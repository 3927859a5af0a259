-- Lists the names of channels in alphabetical order, after `p_after`. `p_prefix` selects names by their
-- beginning. `p_text` selects names that contain a text, in upper or lower case. The function reads at
-- most `p_most` names.
--
-- Answers: a row per name. `upto` is the last name that was read, the same in all rows, and null if
--   there are no more names. A single row without a name if no name matches.
create or replace function lonnymq.channel_names(
  p_prefix text default '',
  p_text text default '',
  p_after text default '',
  p_limit integer default 100,
  p_most integer default 10000
)
returns table (channel text, upto text, looked_at bigint)
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
declare
  -- The highest character there is: no name that begins with the prefix comes after it.
  v_end text := case when p_prefix = '' then repeat(chr(1114111), 64)
    else p_prefix || chr(1114111) end;
  v_after text := greatest(p_after collate "C", p_prefix collate "C");
  v_is_first boolean := p_after collate "C" < p_prefix collate "C";
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 1000);
  perform lonnymq.guard_range('most', p_most, 1, 20000);
  return query
  with looked as materialized (
    select n.name from (
      (
        select c.name from lonnymq.channel c
        where c.name >= v_after and c.name <= v_end and (v_is_first or c.name <> v_after)
        order by c.name limit p_most
      )
      union
      (
        select s.name from lonnymq.channel_setting s
        where s.name >= v_after and s.name <= v_end and (v_is_first or s.name <> v_after)
        order by s.name limit p_most
      )
      union
      (
        select distinct f.channel from lonnymq.change_unfolded(10000) f
        where f.channel >= v_after and f.channel <= v_end
          and (v_is_first or f.channel <> v_after)
      )
    ) n
    order by n.name limit p_most
  ), extent as (
    select count(*) as names, max(l.name collate "C") as last_name from looked l
  ), found as materialized (
    select l.name from looked l
    where starts_with(l.name, p_prefix)
      and (p_text = '' or position(lower(p_text) in lower(l.name)) > 0)
    order by l.name limit p_limit + 1
  ), shown as (
    select f.name from found f order by f.name limit p_limit
  )
  select s.name, case
      when (select count(*) from found f) > p_limit
        then (select max(s.name collate "C") from shown s)
      when e.names >= p_most then e.last_name
    end, e.names
  from extent e left join shown s on true
  order by s.name;
end
$$;

comment on function lonnymq.channel_names(text, text, text, integer, integer) is
'Lists the names of channels, by prefix and by a text in the name.';
