-- Lists the readers of history and the position that each reader has confirmed. `history_prune` keeps
-- all rows that a reader has not confirmed.
create or replace function lonnymq.history_reader_list()
returns table (name text, confirmed xid8, confirmed_at bigint)
language sql
stable
as $$
  select r.name, r.confirmed, (extract(epoch from r.confirmed_at) * 1000)::bigint
  from lonnymq.history_reader r
  order by r.name
$$;

comment on function lonnymq.history_reader_list() is
'Lists the readers of history and their confirmed positions.';
