-- Says that every lease and every wake_at was looked at, where no notes were folded to say it with.
create or replace function lonnymq.tick_touch(p_now bigint)
returns void
language sql
volatile
as $$
  with old as (
    delete from lonnymq.tick t
    where t.id = (select n.id from lonnymq.tick n order by n.id desc limit 1)
    returning *
  )
  insert into lonnymq.tick (until, again, seat_floor, swept_at, folded_at, told_at)
  select o.until, o.again, o.seat_floor, p_now, o.folded_at, o.told_at from old o
$$;

comment on function lonnymq.tick_touch(bigint) is
'Says that every lease and every wake_at was looked at.';
