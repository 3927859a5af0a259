-- Stores the time when a notified change was folded (queue_notify).
create or replace function lonnymq.checkpoint_notified()
returns void
language plpgsql
as $$
declare
  v_old lonnymq.checkpoint;
begin
  select * into v_old from lonnymq.checkpoint_now();
  if v_old.notified_at >= clock_timestamp() - interval '2 milliseconds' then
    return;
  end if;
  delete from lonnymq.checkpoint t where t.id = v_old.id;
  insert into lonnymq.checkpoint (until_xid, running_xids, seat_floor, notified_at, lease_mark, wake_mark, folded_at, has_moved)
  values (v_old.until_xid, v_old.running_xids, v_old.seat_floor, clock_timestamp(), v_old.lease_mark,
    v_old.wake_mark, v_old.folded_at, v_old.has_moved);
end
$$;

comment on function lonnymq.checkpoint_notified() is
'Stores the time when a notified change was folded.';
