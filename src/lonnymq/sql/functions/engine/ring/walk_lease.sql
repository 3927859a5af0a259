-- Leases messages for a dequeue or a claim, channel by channel in turn, under every limit: window after
-- window of the ring, until enough is taken or every channel was visited.
--
--   walk_window ─▶ walk_quota ─▶ walk_take ─▶ walk_step ─▶ lease ─▶ channel_count_leases ─▶ walk_review
--
-- Answers: as message_dequeue. A claim gets no contents, and the answer counted instead of leased where
--   limits had a say.
-- Locks: channels that have limits, and messages, without ever waiting for one. A call that has leased something
--   does not begin to count for a first limit (walk_quota): its own leases are recorded at its end.
create or replace function lonnymq.walk_lease(
  p_walk lonnymq.walk, p_lease_ms bigint, p_worker text, p_choice lonnymq.claim_choice
)
returns setof lonnymq.dequeued
language plpgsql
as $$
declare
  v_most integer := case when p_choice.token is null then 256 else 2048 end;
  v_queue_bit integer := case when p_walk.has_limit then 2 else 0 end;
  v_next integer;
  v_window lonnymq.ring_window;
  v_taken record;
  v_token text;
  v_ids bigint[];
  v_due_at bigint;
  v_started timestamptz;
begin
  if p_walk.has_limit then
    p_walk := lonnymq.walk_quota_queue(p_walk);
  end if;
  v_token := coalesce(p_choice.token, left(replace(gen_random_uuid()::text, '-', ''), 16));
  v_next := least(p_walk.remaining, v_most);

  while p_walk.remaining > 0 loop
    -- A turn that was cut short goes on where it stopped.
    p_walk.seat := p_walk.seat - (p_walk.used > 0)::integer;
    v_window := lonnymq.walk_window(p_walk, v_next, p_choice);
    if v_window.seats is null and p_walk.lap < 0 then
      -- Only channels that sat down after this lap had come to its end.
      p_walk.lap := -p_walk.lap;
      p_walk.used := 0;
      continue;
    end if;
    exit when v_window.seats is null;
    if not p_walk.is_folder then
      p_walk := lonnymq.walk_look_again(p_walk);
      if not p_walk.is_same then
        p_walk.seat := p_walk.seat + case when p_walk.used > 0 then 1 else 0 end;
        continue;
      end if;
    end if;
    -- Leases are dated after the settings were read by which they are taken.
    p_walk.now_at := lonnymq.epoch();
    if v_window.limited is not null then
      v_window := lonnymq.walk_quota(v_window, p_walk.is_folder and v_ids is null);
      p_walk.now_at := v_window.now_at;
      p_walk.is_contended := p_walk.is_contended or v_window.is_contended;
      if v_window.is_short and v_ids is null and lonnymq.walk_can_fold(p_walk) then
        p_walk := lonnymq.walk_fold_slots(p_walk);
        continue;
      end if;
    end if;
    v_started := clock_timestamp();
    select * into v_taken from lonnymq.walk_take(p_walk, v_window, p_choice);
    p_walk := lonnymq.walk_step(p_walk, v_window, v_taken.places, v_taken.taken);

    if v_taken.ids is not null then
      v_ids := v_ids || v_taken.ids;
      v_due_at := least(v_due_at, p_walk.now_at + p_lease_ms);
      return query
      update lonnymq.message m
      set token = (v_token || lpad(to_hex(m.id), 16, '0'))::uuid,
        lease_until = p_walk.now_at + p_lease_ms, dequeued_at = p_walk.now_at,
        attempt = m.attempt + 1, worker = p_worker, slot = v_queue_bit | v_window.bits[t.place]
      from unnest(v_taken.tids, v_taken.places) as t (tid, place)
      where m.ctid = t.tid
      returning case when p_choice.token is not null and m.slot > 0 then 'counted' else 'leased' end,
        m.id, m.token, m.channel, case when p_choice.token is null then m.content end, m.state,
        m.attempt, m.kind, m.headers, m.key, m.created_at,
        lonnymq.message_due_at(m.dequeue_at, m.priority), m.dequeued_at, m.lease_until, null::bigint,
        array[p_walk.seat, p_walk.lap, p_walk.used];
    end if;
    if v_window.locked is not null then
      perform lonnymq.channel_count_leases(v_window, v_taken.taken, p_walk.now_at, p_walk.is_folder);
    end if;
    if p_walk.is_folder then
      perform lonnymq.walk_review(p_walk, v_window, v_taken.taken, v_started);
    end if;

    exit when v_window.is_whole and not exists (
      select from unnest(v_window.quotas, v_taken.taken) as w (quota, taken)
      where w.taken = w.quota and w.taken > 0);
    exit when p_walk.visits >= 8 * v_most;
    v_next := least(case when v_taken.ids is null then v_next * 2 else p_walk.remaining end, v_most);
  end loop;

  if v_ids is null then
    return next lonnymq.walk_nothing(p_walk, p_walk.visits >= 8 * v_most,
      p_choice.token is null or (p_choice.channels, p_choice.pattern, p_choice.last_at) is null);
    return;
  end if;
  -- Whoever folds next sees to it that somebody looks when the first of these leases ends.
  insert into lonnymq.change (channel, can_wait, lease_until, message_ids)
  values ('', p_lease_ms >= 1000, v_due_at, v_ids);
  if v_queue_bit > 0 then
    perform lonnymq.queue_count_leases(p_walk, cardinality(v_ids));
  end if;
end
$$;

comment on function lonnymq.walk_lease(
  lonnymq.walk, bigint, text, lonnymq.claim_choice
) is
'Leases messages for a dequeue or a claim, channel by channel in turn, under every limit.';
