-- Lists the published loads of an app or of all apps, latest first.
--
-- Answers: a row per load, with the outcomes of the rows.
-- Locks: none.
-- Notifies: no.
create or replace function lonnymq.load_list(
  p_app text default null, p_limit integer default 100
)
returns table (
  app text, version bigint, published_at bigint, created bigint, duplicate bigint, dropped bigint,
  rejected bigint, invalid bigint
)
language plpgsql
stable
as $$
#variable_conflict use_column
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 10000);
  return query
  select l.app, l.version, l.published_at, l.created, l.duplicate, l.dropped, l.rejected, l.invalid
  from lonnymq.load l
  where p_app is null or l.app = p_app
  order by l.published_at desc, l.version desc, l.app
  limit p_limit;
end
$$;

comment on function lonnymq.load_list(text, integer) is
'Lists the published loads.';
