-- Tells the engine that the settings of a channel have changed; it reads them at the next fold.
-- Settings are as durable as messages, also where a dequeue came before them in the transaction.
create or replace function lonnymq.channel_note(p_channel text)
returns void
language sql
volatile
as $$
  select lonnymq.commit_durably();
  insert into lonnymq.note (channel, look, told) values (p_channel, true, true);
  select pg_notify('lonnymq', '');
$$;

comment on function lonnymq.channel_note(text) is
'Tells the engine that the settings of a channel have changed.';
