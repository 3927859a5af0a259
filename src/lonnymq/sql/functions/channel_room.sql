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
  select c.id, c.max_size is null or c.recount_after is not null as is_uncounted into v_channel
  from lonnymq.channel c where c.name = p_channel;
  if v_channel.id is null or v_channel.is_uncounted then
    -- A capacity that is not folded yet: the line itself is counted.
    select count(*) into v_size
    from (select from lonnymq.message m where m.channel = p_channel limit v_policy.max_size) m;
  else
    v_size := lonnymq.channel_size(p_channel, v_channel.id);
  end if;
  room := greatest(0, v_policy.max_size - v_size);
  answer := case when v_policy.when_full = 'drop' then 'dropped' else 'refused' end;
  reason := 'full';
end
$$;

comment on function lonnymq.channel_room(text) is
'How many messages more a channel takes.';
