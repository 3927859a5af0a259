-- The single row that a dequeue answers when nothing was leased: the reason, and the time of the next
-- try.
--
-- Only the folder answers empty, and only when nothing is left to fold. If changes came in meanwhile,
-- the folder folds the changes and answers contended: try again at once. A call that could not read
-- everything answers contended too.
--
-- The next try is when a channel becomes due or a lease runs out. The next try is soon if the ring is
-- not empty, because another call is taking the messages and may roll back. The next try is also soon
-- while a transaction may have written a message without a notification, because the channel was still
-- seated, or another notified change was not folded or was folded a moment ago (queue_notify). That
-- takes as long as a transaction runs that began before this call changed anything, or within that
-- moment. So a call that has written, or comes in that moment, is followed by another call, and the
-- cursor keeps the transaction id below which all transactions must have ended. dequeued_at is the
-- database's time.
create or replace function lonnymq.walk_nothing(
  p_walk lonnymq.walk, p_is_cut boolean, p_is_whole boolean
)
returns lonnymq.dequeued
language plpgsql
as $$
declare
  v_row lonnymq.dequeued;
  v_checkpoint lonnymq.checkpoint;
  v_snapshot pg_snapshot;
  v_is_early boolean;
  v_until bigint;
begin
  if p_walk.is_folder and not p_walk.is_contended then
    perform lonnymq.limit_check(null)
    where exists (select from lonnymq.early_lease u where u.channel_id >= 0);
    select * into v_checkpoint from lonnymq.checkpoint_now();
    if exists (
      select from lonnymq.change n
      where n.can_wait = any ('{false,true}') and n.xid >= v_checkpoint.until_xid
    ) or exists (
      select from lonnymq.change n
      where n.can_wait = any ('{false,true}') and n.xid = any (v_checkpoint.running_xids)
    ) then
      -- A slot that could wait may be what was missing.
      p_walk.is_contended := exists (
          select from lonnymq.change n
          where n.can_wait = any ('{false,true}') and n.xid >= v_checkpoint.until_xid
            and (not n.can_wait or n.slots + n.queue_slots > 0 or n.slot_channels is not null)
        ) or exists (
          select from lonnymq.change n
          where n.can_wait = any ('{false,true}') and n.xid = any (v_checkpoint.running_xids)
            and (not n.can_wait or n.slots + n.queue_slots > 0 or n.slot_channels is not null)
        );
      select f.answer <> 'done' or p_walk.is_contended into p_walk.is_contended
      from lonnymq.fold_run(p_walk.now_at) f;
    end if;
  end if;
  v_row.answer := case when p_walk.is_contended or p_is_cut then 'contended' else 'empty' end;
  v_row.dequeued_at := p_walk.now_at;
  v_row.retry_at := p_walk.now_at;
  v_row.cursor := array[p_walk.seat, p_walk.lap, p_walk.used];
  v_snapshot := pg_current_snapshot();
  v_is_early := pg_current_xact_id_if_assigned() is not null or coalesce((
      select t.notified_at from lonnymq.checkpoint t order by t.id desc limit 1
    ) > clock_timestamp() - interval '5 milliseconds', false);
  if not v_is_early then
    v_until := coalesce(p_walk.looked, pg_snapshot_xmax(v_snapshot)::text::bigint);
    v_row.cursor := v_row.cursor || v_until;
  end if;
  if v_row.answer = 'empty' then
    v_row.retry_at := least(
      (select p.wake_at from lonnymq.channel_position p
        where p_walk.filter_id is null and p.wake_at > p_walk.now_at order by p.wake_at limit 1),
      (select p.wake_at from lonnymq.kind_position p
        where p.filter_id = p_walk.filter_id and p.wake_at > p_walk.now_at
        order by p.wake_at limit 1),
      -- The ring of a filter is dropped when nobody has asked for long.
      case when p_walk.filter_id is not null then p_walk.now_at + 900000 end,
      (select l.due_at from lonnymq.lease l
        where l.due_at > p_walk.now_at order by l.due_at limit 1),
      case when p_walk.visits > 0 and p_is_whole then p_walk.now_at + 20 end,
      (select p_walk.now_at + 20 + count(*) / 50 from lonnymq.early_lease u
        where u.channel_id >= 0 having count(*) > 0),
      case when v_is_early then p_walk.now_at + 6 end,
      case when pg_snapshot_xmin(v_snapshot)::text::bigint < v_until
        then p_walk.now_at + case when p_walk.looked is null then 5 else 50 end end
    );
  end if;
  return v_row;
end
$$;

comment on function lonnymq.walk_nothing(lonnymq.walk, boolean, boolean) is
'The single row that a dequeue answers when nothing was leased.';
