-- Registers messages that you loaded with COPY. Call this function after the COPY, in the same
-- transaction, with the channels of the messages.
--
-- Answers: the number of channels.
-- Locks: none.
-- Notifies: yes.
create or replace function lonnymq.message_announce(p_channels text[])
returns bigint
language plpgsql
as $$
declare
  v_channel text;
  v_told bigint;
begin
  if p_channels is null then
    raise exception using errcode = 'LM001', message = 'channels must be given';
  end if;
  foreach v_channel in array p_channels loop
    perform lonnymq.guard_text('channel', v_channel);
  end loop;
  perform lonnymq.commit_durably();
  insert into lonnymq.change (channel, rescan, recount, notified) select distinct c.name, true, true, true
  from unnest(p_channels) as c (name);
  get diagnostics v_told = row_count;
  perform pg_notify('lonnymq', '');
  return v_told;
end
$$;

comment on function lonnymq.message_announce(text[]) is
'Registers messages that were loaded with COPY.';
