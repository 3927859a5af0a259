-- Writes a checkpoint: how far a fold has come. A checkpoint saves the next fold from reading deleted
-- changes, so a checkpoint can wait for at most 20 ms or 50 transactions. A mark that moved back cannot
-- wait.
create or replace function lonnymq.fold_mark(
  p_old lonnymq.checkpoint, p_new lonnymq.checkpoint, p_batch lonnymq.fold_batch,
  p_snapshot pg_snapshot, p_now bigint
)
returns void
language plpgsql
as $$
begin
  if p_old.id is not null and not p_batch.is_more and p_batch.busy is null
    and p_now between p_old.folded_at and p_old.folded_at + 20
    and p_new.lease_mark >= p_old.lease_mark and p_new.wake_mark >= p_old.wake_mark
    and not p_old.has_moved
    and (p_batch.has_notified is not true or p_old.notified_at > clock_timestamp() - interval '2 milliseconds')
    and pg_snapshot_xmax(p_snapshot)::text::bigint - p_old.until_xid::text::bigint < 50
  then
    return;
  end if;
  delete from lonnymq.checkpoint t where t.id = p_old.id;
  insert into lonnymq.checkpoint (until_xid, running_xids, seat_floor, lease_mark, wake_mark, folded_at, notified_at)
  select
    case when p_batch.is_more then p_old.until_xid else pg_snapshot_xmax(p_snapshot) end,
    array(
      select pg_snapshot_xip(p_snapshot)
      union select pg_current_xact_id()
      union select a.xid from unnest(p_batch.running_xids) as a (xid)
      union select a.xid from unnest(p_old.running_xids) as a (xid) where p_batch.is_more
    ),
    coalesce((
      select p.seat from lonnymq.channel_position p
      where p.seat >= p_old.seat_floor
      order by p.seat limit 1
    ), p_old.seat_floor),
    p_new.lease_mark, p_new.wake_mark, p_now,
    case when p_batch.has_notified then clock_timestamp() else p_old.notified_at end;
end
$$;

comment on function lonnymq.fold_mark(
  lonnymq.checkpoint, lonnymq.checkpoint, lonnymq.fold_batch, pg_snapshot, bigint
) is
'Writes a checkpoint: how far a fold has come.';
