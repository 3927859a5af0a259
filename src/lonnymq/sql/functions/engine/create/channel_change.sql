-- Tells the engine that the settings of a channel have changed; it reads them at the next fold.
-- Settings are as durable as messages, also where a dequeue came before them in the transaction.
create or replace function lonnymq.channel_change(p_channel text)
returns void
language sql
volatile
as $$
  select lonnymq.commit_durably();
  insert into lonnymq.change (channel, rescan, notified) values (p_channel, true, true);
  select pg_notify('lonnymq', '');
$$;

comment on function lonnymq.channel_change(text) is
'Tells the engine that the settings of a channel have changed.';
