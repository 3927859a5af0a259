-- How many rows a table has: counted where it has up to p_pages pages or up to 10,000 rows, dead ones too, else as the
-- server's statistics have it, which costs the same however large it is.
create or replace function lonnymq.table_metric(
  p_table regclass, p_pages integer, out value bigint, out is_exact boolean
)
language plpgsql
stable
as $$
declare
  v_pages bigint := pg_relation_size(p_table) / current_setting('block_size')::bigint;
begin
  is_exact := v_pages <= p_pages or (
    pg_stat_get_tuples_inserted(p_table) > 0
    and pg_stat_get_live_tuples(p_table) + pg_stat_get_dead_tuples(p_table) <= 10000
  );
  if is_exact then
    execute format('select count(*) from (select from %s limit 100000) t', p_table) into value;
    return;
  end if;
  value := pg_stat_get_live_tuples(p_table);
  if value > 0 or pg_stat_get_tuples_inserted(p_table) > 0 then
    return;
  end if;
  -- The statistics were lost in a crash: as many a page as when it was last vacuumed.
  select greatest(c.reltuples, 0) / greatest(c.relpages, 1) * v_pages into value
  from pg_class c where c.oid = p_table;
end
$$;

comment on function lonnymq.table_metric(regclass, integer) is
'How many rows a table has: counted for a small table, else from statistics.';
