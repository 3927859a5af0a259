-- Ends leases whose messages are not done, and whose rows the caller has locked: back into the line at the
-- moment given, or dead. Writes history and the notes. Shared by message_fail, message_defer and
-- lease_reclaim.
--
-- p_outcome is what history says: failed, expired or deferred. A deferred message gets its attempt back,
-- keeps its error, and has the state given if there is one.
create or replace function lonnymq.lease_end(
  p_ids bigint[],
  p_next_ats bigint[],
  p_outcome text,
  p_now bigint,
  p_died boolean[] default null,
  p_errors text[] default null,
  p_states bytea[] default null
)
returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_history text;
  v_tids tid[];
  v_next_ats bigint[];
  v_errors text[];
  v_states bytea[];
  v_dead_tids tid[];
  v_dead_errors text[];
begin
  select q.history into v_history from lonnymq.queue q where q.only_row;

  with ended as materialized (
    select m.*, coalesce(i.died, false) as died, i.error, i.state,
      case when i.died is not true then i.next_at end as next_at
    from unnest(p_ids, p_died, p_next_ats, p_errors, p_states) as i (id, died, next_at, error, state)
    cross join lateral (
      select m.ctid as tid, m.id, m.created_at, m.dequeue_at, m.dequeued_at,
        octet_length(m.content) as size, m.attempt, m.slot, m.channel, m.kind, m.name, m.worker,
        m.headers, case when v_history = 'content' then m.content end as content
      from lonnymq.message m where m.id = i.id limit 1
    ) m
  ), logged as (
    insert into lonnymq.history (
      xid, message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt, outcome,
      channel, kind, name, worker, error, headers, content
    )
    select (select p.at from lonnymq.history_position() as p (at)),
      e.id, e.created_at, e.dequeue_at, e.dequeued_at, p_now, e.size, e.attempt,
      case when e.died then 'dead' else p_outcome end, e.channel, e.kind, e.name, e.worker, e.error,
      e.headers, e.content
    from ended e
    where v_history <> 'off'
  ), told as (
    -- One note for each channel: the first message that runs again, the leases and the deaths of all.
    insert into lonnymq.note (channel, dequeue_at, message_id, slots, queue_slots, size, told)
    select f.channel, f.next_at, case when not f.died then f.id end, f.slots, f.queue_slots,
      -f.deaths,
      not f.died and lonnymq.channel_tell(f.channel, f.next_at)
    from (
      select distinct on (e.channel) e.channel, e.died, e.next_at, e.id,
        sum(e.slot & 1) over whole as slots, sum((e.slot >> 1) & 1) over whole as queue_slots,
        count(*) filter (where e.died and e.slot & 4 = 4) over whole as deaths
      from ended e
      window whole as (partition by e.channel)
      order by e.channel, e.died, e.next_at, e.id
    ) f
    where not f.died or f.slots + f.queue_slots + f.deaths > 0
  )
  select array_agg(e.tid) filter (where not e.died), array_agg(e.next_at) filter (where not e.died),
    array_agg(e.error) filter (where not e.died), array_agg(e.state) filter (where not e.died),
    array_agg(e.tid) filter (where e.died), array_agg(e.error) filter (where e.died)
  into v_tids, v_next_ats, v_errors, v_states, v_dead_tids, v_dead_errors
  from ended e;

  if v_tids is not null then
    update lonnymq.message m
    set token = null, lease_until = null, dequeued_at = null, worker = null, slot = 0,
      dequeue_at = t.next_at, state = coalesce(t.state, m.state),
      error = case when p_outcome = 'deferred' then m.error else t.error end,
      attempt = case when p_outcome = 'deferred' then m.attempt - 1 else m.attempt end
    from unnest(v_tids, v_next_ats, v_errors, v_states) as t (tid, next_at, error, state)
    where m.ctid = t.tid;
  end if;
  if v_dead_tids is not null then
    with gone as (
      delete from lonnymq.message m
      using unnest(v_dead_tids, v_dead_errors) as t (tid, error)
      where m.ctid = t.tid
      returning m.*, t.error as last_error
    )
    insert into lonnymq.dead (
      id, dequeue_at, created_at, died_at, attempt, channel, kind, name, headers, state, error,
      content
    )
    select g.id, g.dequeue_at, g.created_at, p_now, g.attempt, g.channel, g.kind, g.name,
      g.headers, g.state, g.last_error, g.content
    from gone g;
  end if;
end
$$;

comment on function lonnymq.lease_end(
  bigint[], bigint[], text, bigint, boolean[], text[], bytea[]
) is
'Ends leases whose messages are not done: back into the line, or dead.';
