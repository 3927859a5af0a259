-- How many rows a table has: counted up to 100,000, estimated from the planner's figures beyond.
create or replace function lonnymq.table_count(p_table regclass)
returns bigint
language plpgsql
stable
as $$
declare
  v_count bigint;
begin
  execute format('select count(*) from (select from %s limit 100001) t', p_table) into v_count;
  if v_count <= 100000 then
    return v_count;
  end if;
  select greatest(v_count, c.reltuples::bigint) into v_count from pg_class c where c.oid = p_table;
  return v_count;
end
$$;

comment on function lonnymq.table_count(regclass) is
'How many rows a table has: counted up to 100,000, estimated beyond.';
