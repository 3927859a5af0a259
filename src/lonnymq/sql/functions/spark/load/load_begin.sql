-- Begins to publish a load, in the transaction of the caller. Each load of an app and version is
-- published at most once. Before, tasks fill stages (`stage_create`), each in a separate transaction.
-- After `load_begin`, `stage_take` creates the messages and `load_end` closes the load.
--
-- Answers: `begun`, or `already` if the load was published before. If two calls run at the same time,
--   the second waits for the first.
-- Locks: the key of the load, until the transaction ends.
-- Notifies: no.
create or replace function lonnymq.load_begin(p_app text, p_version bigint)
returns text
language plpgsql
as $$
begin
  perform lonnymq.guard_text('app', p_app);
  if p_version is null then
    raise exception using errcode = 'LM001', message = 'version must be given';
  end if;
  perform lonnymq.commit_durably();
  insert into lonnymq.load (app, version, published_at) values (p_app, p_version, lonnymq.epoch())
  on conflict (app, version) do nothing;
  return case when found then 'begun' else 'already' end;
end
$$;

comment on function lonnymq.load_begin(text, bigint) is
'Begins to publish a load, which is published at most once.';
