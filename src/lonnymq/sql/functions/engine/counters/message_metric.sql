-- How many messages there are, and how many of them are leased: counted where table_metric counts. leased is null where
-- it is not known.
create or replace function lonnymq.message_metric(
  p_pages integer, out value bigint, out leased bigint, out is_exact boolean
)
language plpgsql
stable
as $$
begin
  select f.value, f.is_exact into value, is_exact
  from lonnymq.table_metric('lonnymq.message', p_pages) f;
  if not is_exact then
    return;
  end if;
  select count(*), count(*) filter (where m.token is not null) into value, leased
  from (select m.token from lonnymq.message m order by m.id limit 100000) m;
end
$$;

comment on function lonnymq.message_metric(integer) is
'How many messages there are and how many are leased: counted if few, else from statistics.';
