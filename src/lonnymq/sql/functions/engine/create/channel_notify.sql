-- Notifies waiting consumers of a new message, if needed: a channel with no message due and none
--   scheduled earlier would not be read in time.
--
-- Answers: whether consumers are notified, for the change that the caller writes next.
-- Notifies: see queue_notify.
create or replace function lonnymq.channel_notify(p_channel text, p_due_at bigint)
returns boolean
language plpgsql
as $$
begin
  perform
  from lonnymq.channel c
  cross join lateral (
    select * from lonnymq.channel_position p where p.channel_id = c.id order by p.version desc limit 1
  ) p
  where c.name = p_channel and not lonnymq.snapshot_is_fixed()
    and (p.seat is not null or p.hold is not null or p.wake_at <= p_due_at)
    -- Whoever asks for some kinds may wait although others find something in the channel.
    and not exists (select from lonnymq.kind_filter f where f.id > 0);
  if found then
    return false;
  end if;
  return lonnymq.queue_notify();
end
$$;

comment on function lonnymq.channel_notify(text, bigint) is
'Notifies waiting consumers of a new message, if needed.';
