-- Stops a reader where a subscription still brings history: its rows come in the order of commits, and
-- no position is final.
create or replace function lonnymq.guard_history()
returns void
language plpgsql
stable
as $$
begin
  if exists (
    select from pg_subscription_rel s
    join pg_class c on c.oid = s.srrelid
    where c.relnamespace = 'lonnymq'::regnamespace and c.relname ~ '^history(_\d{8}|_other)?$'
  ) then
    raise exception using errcode = 'LM005',
      message = 'history is replicated by a subscription and cannot be read by position',
      hint = 'Read history on the publisher, or drop the subscription first.';
  end if;
end
$$;

comment on function lonnymq.guard_history() is
'Stops a reader where a subscription still brings history.';
