-- Whether nobody would look at a channel in time for a message due at p_due_at without being told:
-- it is not known, or has nothing due and nothing earlier to wait for.
create or replace function lonnymq.channel_is_asleep(p_channel text, p_due_at bigint)
returns boolean
language sql
stable
as $$
  select coalesce((
    select p.seat is null and p.hold is null and (p.wake_at is null or p.wake_at > p_due_at)
    from lonnymq.channel c
    cross join lateral (
      select * from lonnymq.place p where p.channel_id = c.id order by p.version desc limit 1
    ) p
    where c.name = p_channel
  ), true)
$$;

comment on function lonnymq.channel_is_asleep(text, bigint) is
'Whether nobody would look at a channel in time for a message without being told.';
