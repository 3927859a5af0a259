-- Records that a worker is active, how many messages the worker is running, and the kinds of messages that the worker
-- takes: null is all kinds, and a null among the kinds is messages without a kind. A worker calls this function again
-- within `p_interval_ms`. Workers that have not reported for a day are removed.
--
-- Answers: `started` (the worker was unknown), `seen`.
-- Locks: the row of the worker.
-- Notifies: no.
create or replace function lonnymq.worker_seen(
  p_name text,
  p_concurrency integer,
  p_running integer default 0,
  p_stopping boolean default false,
  p_about jsonb default '{}',
  p_interval_ms bigint default 10000,
  p_kinds text[] default null
)
returns text
language plpgsql
as $$
declare
  v_now bigint := lonnymq.epoch();
  v_kinds text[] := case when p_kinds is not null
    then array(select coalesce(k.kind, '') from unnest(p_kinds) as k (kind)) end;
begin
  perform lonnymq.guard_text('worker', p_name);
  perform lonnymq.guard_range('concurrency', p_concurrency, 1, 1000000);
  perform lonnymq.guard_range('running', p_running, 0, 1000000);
  perform lonnymq.guard_range('interval_ms', p_interval_ms, 1, 86400000);
  perform lonnymq.guard_range('bytes of about', octet_length(p_about::text), 2, 16384);

  perform lonnymq.guard_choice(p_kinds, null);

  update lonnymq.worker w
  set seen_at = v_now, interval_ms = p_interval_ms, concurrency = p_concurrency, running = p_running,
    stopping = p_stopping, about = p_about, kinds = v_kinds
  where w.name = p_name;
  if found then
    return 'seen';
  end if;
  insert into lonnymq.worker (
    name, started_at, seen_at, interval_ms, concurrency, running, stopping, about, kinds
  )
  values (p_name, v_now, v_now, p_interval_ms, p_concurrency, p_running, p_stopping, p_about,
    v_kinds)
  on conflict (name) do nothing;
  delete from lonnymq.worker w
  where w.name in (
    select o.name from lonnymq.worker o
    where o.seen_at < v_now - 86400000
    for update skip locked
  );
  return 'started';
end
$$;

comment on function lonnymq.worker_seen(text, integer, integer, boolean, jsonb, bigint, text[]) is
'Records that a worker is active.';
