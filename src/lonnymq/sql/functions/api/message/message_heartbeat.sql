-- Extends leases: the leases end `p_lease_ms` from now. `p_progress` (0 to 1) and `p_notes` (up to 255 bytes) replace
-- what `message_status` shows of the progress, where the progress is not null.
--
-- Answers: `extended` with the time, `lease_lost`, `not_found`, `settling` (another transaction is
--   completing, deferring or failing the message).
-- Locks: the messages, without waiting. A heartbeat cannot deadlock with the completion of the message.
-- Notifies: if a lease becomes shorter. A waiting consumer was told to look when the old lease ends.
create or replace function lonnymq.message_heartbeat(
  p_ids bigint[], p_tokens uuid[], p_lease_ms bigint default 30000,
  p_progress real[] default null, p_notes text[] default null
)
returns table (id bigint, answer text, lease_until bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := lonnymq.epoch();
  v_tids tid[];
  v_ids bigint[];
  v_done uuid[];
  v_sooner bigint[];
begin
  perform lonnymq.guard_pairs(p_ids, p_tokens);
  perform lonnymq.guard_range('lease_ms', p_lease_ms, 1, 2592000000);
  if p_progress is not null or p_notes is not null then
    perform lonnymq.guard_progress(p_progress, p_notes, cardinality(p_ids));
  end if;
  perform lonnymq.commit_durably();

  with input as materialized (
    select distinct i.id, i.token from unnest(p_ids, p_tokens) as i (id, token) order by i.id
  ), held as (
    select m.* from input i
    cross join lateral (
      select m.ctid as tid, m.id, m.token, m.lease_until
      from lonnymq.message m where m.id = i.id and m.token = i.token
      for no key update skip locked
    ) m
  )
  select array_agg(h.tid), array_agg(h.id), array_agg(h.token),
    array_agg(h.id) filter (where h.lease_until > v_now + p_lease_ms)
  into v_tids, v_ids, v_done, v_sooner
  from held h;
  if p_progress is null then
    update lonnymq.message m set lease_until = v_now + p_lease_ms where m.ctid = any (v_tids);
  else
    update lonnymq.message m
    set lease_until = v_now + p_lease_ms, progress = coalesce(t.progress, m.progress),
      progress_note = case when t.progress is null then m.progress_note else t.note end
    from (
      select t.tid, p_progress[t.place] as progress, p_notes[t.place] as note
      from (
        select t.tid, array_position(p_tokens, t.token) as place
        from unnest(v_tids, v_done) as t (tid, token)
      ) t
    ) t
    where m.ctid = t.tid;
  end if;

  -- A lease made shorter ends before anybody would have looked at it.
  if v_sooner is not null then
    insert into lonnymq.change (channel, lease_until, message_ids)
    values ('', v_now + p_lease_ms, v_sooner);
    perform pg_notify('lonnymq', '');
  end if;

  if cardinality(v_done) = cardinality(p_ids) then
    return query select i.id, 'extended', v_now + p_lease_ms from unnest(p_ids) as i (id);
    return;
  end if;
  return query
  select a.id, case
      when a.place is not null then 'extended'
      when (select m.token = a.token from lonnymq.message m where m.id = a.id) then 'settling'
      else a.answer
    end,
    case when a.place is not null then v_now + p_lease_ms end
  from lonnymq.settle_answers(p_ids, p_tokens, v_ids, v_done, 'extended') a;
end
$$;

comment on function lonnymq.message_heartbeat(bigint[], uuid[], bigint, real[], text[]) is
'Extends leases.';

create or replace function lonnymq.message_heartbeat(
  p_id bigint, p_token uuid, p_lease_ms bigint default 30000, p_progress real default null,
  p_note text default null
)
returns text
language sql
volatile
as $$
  select h.answer
  from lonnymq.message_heartbeat(array[p_id], array[p_token], p_lease_ms,
    case when p_progress is not null or p_note is not null then array[p_progress] end,
    case when p_note is not null then array[p_note] end) h
$$;

comment on function lonnymq.message_heartbeat(bigint, uuid, bigint, real, text) is
'Extends one lease.';
