-- What else happens when messages end that somebody wants to know the end of: the settlers call this function for
-- messages with `watched`, and only then, so that the end of any other message costs nothing.
--
-- Notifies: on the notification channel ended_lonnymq, with up to 300 ids in a payload.
create or replace function lonnymq.message_ended(p_ids bigint[])
returns void
language sql
volatile
as $$
  select pg_notify('ended_' || 'lonnymq', string_agg(i.id::text, ','))
  from unnest(p_ids) with ordinality as i (id, ordinal)
  group by i.ordinal / 300
$$;

comment on function lonnymq.message_ended(bigint[]) is
'Notifies those who wait for the end of messages.';
