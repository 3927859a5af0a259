-- How many messages more a channel takes, and what it answers beyond that: see message_add.
-- Answers: room, null where there is no capacity; the answer and the reason for what does not fit.
create or replace function lonnymq.channel_room(
  p_channel text, out room bigint, out answer text, out reason text
)
language plpgsql
stable
as $$
declare
  v_policy record;
  v_channel record;
  v_size bigint;
begin
  select p.max_size, p.when_full, p.releasing into v_policy from lonnymq.channel_policy(p_channel) p;
  if v_policy.releasing then
    room := 0;
    answer := 'refused';
    reason := 'releasing';
    return;
  end if;
  if v_policy.max_size is null then
    return;
  end if;
  select c.id, c.max_size is not null as is_folded, c.recount_after into v_channel
  from lonnymq.channel c where c.name = p_channel;
  v_size := lonnymq.channel_size(p_channel, v_channel.id, coalesce(v_channel.is_folded, false),
    v_channel.recount_after, v_policy.max_size);
  room := greatest(0, v_policy.max_size - v_size);
  answer := case when v_policy.when_full = 'drop' then 'dropped' else 'refused' end;
  reason := 'full';
end
$$;

comment on function lonnymq.channel_room(text) is
'How many messages more a channel takes.';
