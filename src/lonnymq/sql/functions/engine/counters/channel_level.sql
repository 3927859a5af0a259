-- How full a channel is, and what it answers to a message that does not fit.
-- Answers: size and max_size, both null where there is no capacity; room, how many messages more it takes,
--   null where that has no end; the answer and the reason for what does not fit.
create or replace function lonnymq.channel_level(
  p_channel text,
  out size bigint, out max_size bigint, out room bigint, out answer text, out reason text
)
language plpgsql
stable
as $$
declare
  v_policy record;
  v_channel record;
begin
  select p.max_size, p.when_full, p.retiring into v_policy from lonnymq.channel_policy(p_channel) p;
  max_size := v_policy.max_size;
  if max_size is not null then
    select c.id, c.max_size is not null as is_folded into v_channel
    from lonnymq.channel c where c.name = p_channel;
    size := lonnymq.channel_size(p_channel, v_channel.id, coalesce(v_channel.is_folded, false),
      max_size);
    room := greatest(0, max_size - size);
    answer := case when v_policy.when_full = 'drop' then 'dropped' else 'rejected' end;
    reason := 'full';
  end if;
  if v_policy.retiring then
    room := 0;
    answer := 'rejected';
    reason := 'retiring';
  end if;
end
$$;

comment on function lonnymq.channel_level(text) is
'How full a channel is, and the answer to a message that does not fit.';
