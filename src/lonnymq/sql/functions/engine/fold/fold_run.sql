-- Folds changes, and times that have passed, into channels: seats, counters and floors. The caller holds
-- the fold lock (fold_lock), in a dequeue or in maintenance.
--
--   lease_unlocked ─▶ fold_leases ─▶ lease_reclaim ─▶ fold_wake ─▶ fold_read
--   ─▶ channel_apply_settings ─▶ channel_apply_changes ─▶ kind_apply_changes ─▶ fold_mark
--
-- Only the folder writes lease, gives seats and moves floors. Other transactions that hold a channel
-- back write a change. So the marks are right even if transactions commit late.
--
-- Answers: done, changes (more changes than a fold takes), late (more leases or channels are due than a
--   fold takes), busy (a dequeue holds a channel, and its changes were left), with the number of leases
--   that had run out and of messages that died.
-- Locks: channels that change, by name, without waiting.
create or replace function lonnymq.fold_run(
  p_now bigint, out answer text, out expired bigint, out died bigint
)
language plpgsql
as $$
declare
  c_most constant integer := 1000;
  v_checkpoint lonnymq.checkpoint;
  v_old lonnymq.checkpoint;
  v_leases record;
  v_expired record;
  v_woken record;
  v_batch lonnymq.fold_batch;
begin
  select * into v_checkpoint from lonnymq.checkpoint_now();
  if v_checkpoint.until_xid = '0' then
    perform lonnymq.sequence_advance();
    -- Their rings are built anew: nobody knows what they have missed.
    perform lonnymq.kind_filter_drop(array_agg(f.id)) from lonnymq.kind_filter f;
  end if;
  v_old := v_checkpoint;

  perform lonnymq.lease_unlocked(p_now);
  select * into v_leases from lonnymq.fold_leases(v_checkpoint, c_most);
  -- A clock that was set back brings moments again that are marked already.
  v_checkpoint.lease_mark := least(v_checkpoint.lease_mark, p_now, v_leases.first_at - 1);
  v_checkpoint.wake_mark := least(v_checkpoint.wake_mark, p_now);
  select * into v_expired from lonnymq.lease_reclaim(v_checkpoint.lease_mark, p_now);
  v_checkpoint.lease_mark := v_expired.mark;
  expired := v_expired.expired;
  died := v_expired.died;
  select * into v_woken from lonnymq.fold_wake(v_checkpoint.wake_mark, p_now, 1000);
  v_checkpoint.wake_mark := v_woken.mark;
  if exists (select from lonnymq.early_lease u where u.channel_id >= 0) then
    perform lonnymq.limit_check(1000);
  end if;

  v_batch := lonnymq.fold_read(v_checkpoint, c_most);
  if v_batch.names is not null then
    if v_batch.has_new then
      perform lonnymq.channel_insert(v_batch.names, p_now);
    end if;
    v_batch := lonnymq.fold_lock_channels(v_batch);
    if true = any (v_batch.rescans) then
      perform lonnymq.channel_apply_settings(array_agg(l.name), p_now)
      from unnest(v_batch.names, v_batch.rescans) as l (name, rescan)
      where l.rescan;
    end if;
    if true = any (v_batch.recounts) then
      update lonnymq.channel c set recount_after = '0'
      from unnest(v_batch.names, v_batch.recounts) as r (name, recount)
      where r.recount and c.name = r.name and c.max_size is not null;
    end if;
    perform lonnymq.channel_apply_changes(v_batch, p_now);
  end if;
  if v_woken.has_kinds and v_batch.tids is not null then
    perform lonnymq.kind_apply_changes(v_batch.tids, p_now);
  end if;
  if v_batch.queue_slots <> 0 then
    perform lonnymq.queue_slots_return(v_batch.queue_slots);
  end if;
  delete from lonnymq.change n where n.ctid = any (v_batch.tids);
  if exists (select from lonnymq.channel c where c.recount_after >= '0')
    or exists (select from lonnymq.channel c where c.id > 0 and c.early_ids is not null)
  then
    perform lonnymq.size_begin(v_checkpoint);
  end if;

  v_batch.is_more := v_batch.is_more or v_leases.is_more;
  perform lonnymq.fold_mark(v_old, v_checkpoint, v_batch, v_leases.snapshot, p_now);
  answer := case when v_batch.is_more then 'changes' when v_expired.is_more or v_woken.is_more then 'late'
    when v_batch.busy is not null then 'busy' else 'done' end;
end
$$;

comment on function lonnymq.fold_run(bigint) is
'Folds changes, and times that have passed, into channels.';
