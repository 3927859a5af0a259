-- What else happens when messages end: the settlers call this function for messages with `watched` and for members
-- of groups, and only then, so that the end of any other message costs nothing.
--
-- Notifies: on the notification channel ended_lonnymq, with up to 300 ids in a payload.
create or replace function lonnymq.message_ended(
  p_watched bigint[], p_groups bigint[], p_outcome text
)
returns void
language plpgsql
as $$
begin
  if p_watched is not null then
    perform pg_notify('ended_' || 'lonnymq', string_agg(i.id::text, ','))
    from unnest(p_watched) with ordinality as i (id, ordinal)
    group by i.ordinal / 300;
  end if;
  if p_groups is not null then
    perform lonnymq.group_count(p_groups, p_outcome);
  end if;
end
$$;

comment on function lonnymq.message_ended(bigint[], bigint[], text) is
'Tells those who wait for the end of messages.';
