-- Says whether those who wait for messages have to be told of one that this transaction has put into
-- a channel, and tells them: where the channel has nothing due and nothing earlier to wait for, nobody
-- would look at it in time otherwise.
--
-- Answers: whether those who wait are told, for the change that the caller is about to leave.
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
  where c.name = p_channel
    and (p.seat is not null or p.hold is not null or p.wake_at <= p_due_at);
  if found then
    return false;
  end if;
  return lonnymq.queue_notify();
end
$$;

comment on function lonnymq.channel_notify(text, bigint) is
'Tells those who wait that a message was put into a channel, where it has to.';
