-- Remembers that a note was dealt with a moment ago of which those who wait were notified (queue_tell).
create or replace function lonnymq.tick_tell()
returns void
language plpgsql
as $$
declare
  v_old lonnymq.tick;
begin
  select * into v_old from lonnymq.tick_now();
  if v_old.told_at >= clock_timestamp() - interval '2 milliseconds' then
    return;
  end if;
  delete from lonnymq.tick t where t.id = v_old.id;
  insert into lonnymq.tick (until, again, seat_floor, told_at, lease_mark, wake_mark, folded_at, has_moved)
  values (v_old.until, v_old.again, v_old.seat_floor, clock_timestamp(), v_old.lease_mark,
    v_old.wake_mark, v_old.folded_at, v_old.has_moved);
end
$$;

comment on function lonnymq.tick_tell() is
'Remembers that a note was dealt with of which those who wait were notified.';
