-- Begins to publish a load, inside the caller's transaction: everything that is created in it is created
-- once for each app and version. A load of tasks is filled into stages (stage_create) before, each in a
-- transaction of its own, and taken out of them here (stage_take); load_end closes it.
--
-- Answers: begun; already, if that load was published before. Of two at once the second waits for the
--   first.
-- Locks: the load's key, until the transaction ends.
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
'Begins to publish a load, which is published once.';
