-- Rejects a channel that producer_restrict does not allow. The check runs in functions that run with the
-- rights of the owner.
-- Answers: nothing. Raises LM007.
create or replace function lonnymq.guard_channel(p_channel text)
returns void
language plpgsql
stable
as $$
begin
  if not lonnymq.channel_permitted(p_channel) then
    raise exception using errcode = 'LM007',
      message = format('channel %L is not allowed for user %s', p_channel, session_user),
      hint = 'An admin can allow the channel with producer_restrict.';
  end if;
end
$$;

comment on function lonnymq.guard_channel(text) is
'Rejects a channel that the connected user may not use.';
