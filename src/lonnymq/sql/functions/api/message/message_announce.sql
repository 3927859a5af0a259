-- After a COPY into message, in the same transaction: tells the engine which channels to look at.
--
-- Answers: how many channels were told.
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
'After a COPY into message: tells the engine which channels to look at.';
