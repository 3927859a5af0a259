-- Rejects arrays that do not belong together, are too long for one call, or hold what cannot be a message
-- or is for a channel that this login may not use. See guard_message.
-- Answers: nothing; raises LM001, LM002 or LM007.
create or replace function lonnymq.guard_messages(
  p_channels text[], p_contents bytea[], p_dequeue_ats bigint[], p_delays_ms bigint[],
  p_keys text[], p_kinds text[], p_headers jsonb[]
)
returns void
language plpgsql
stable
as $$
declare
  v_length integer := cardinality(p_channels);
  v_bad record;
begin
  if p_channels is null or p_contents is null or v_length <> cardinality(p_contents) then
    raise exception using errcode = 'LM001',
      message = format('as many contents as channels are needed: there are %s channels and %s contents',
        coalesce(v_length, 0), coalesce(cardinality(p_contents), 0));
  end if;
  if v_length > 10000 then
    raise exception using errcode = 'LM002',
      message = format('a call takes at most 10000 messages, not %s', v_length),
      hint = 'Send them in several calls, or load them with COPY and message_announce.';
  end if;
  if cardinality(p_dequeue_ats) <> v_length or cardinality(p_delays_ms) <> v_length
    or cardinality(p_keys) <> v_length or cardinality(p_kinds) <> v_length
    or cardinality(p_headers) <> v_length
  then
    perform lonnymq.guard_aligned('dequeue_ats', p_dequeue_ats, v_length);
    perform lonnymq.guard_aligned('delays_ms', p_delays_ms, v_length);
    perform lonnymq.guard_aligned('keys', p_keys, v_length);
    perform lonnymq.guard_aligned('kinds', p_kinds, v_length);
    perform lonnymq.guard_aligned('headers', p_headers, v_length);
  end if;
  if p_delays_ms is not null or p_keys is not null or p_kinds is not null or p_headers is not null
    or exists (
      select from unnest(p_channels, p_contents) as i (channel, content)
      where i.channel is null or octet_length(i.channel) not between 1 and 255
        or i.content is null or octet_length(i.content) > 67108864)
  then
    for v_bad in
      select i.*
      from unnest(p_channels, p_contents, p_dequeue_ats, p_delays_ms, p_keys, p_kinds, p_headers)
        as i (channel, content, dequeue_at, delay_ms, key, kind, headers)
      where i.channel is null or octet_length(i.channel) not between 1 and 255
        or i.content is null or octet_length(i.content) > 67108864
        or octet_length(i.key) not between 1 and 255 or octet_length(i.kind) not between 1 and 255
        or i.delay_ms is not null or i.headers is not null
    loop
      perform lonnymq.guard_message(v_bad.channel, v_bad.content, v_bad.dequeue_at, v_bad.delay_ms,
        v_bad.key, v_bad.kind, v_bad.headers);
    end loop;
  end if;
  if current_user <> session_user then
    perform from lonnymq.producer_restriction c limit 1;
    if found then
      perform lonnymq.guard_channel(c.name) from (select distinct unnest(p_channels) as name) c;
    end if;
  end if;
end
$$;

comment on function lonnymq.guard_messages(
  text[], bytea[], bigint[], bigint[], text[], text[], jsonb[]
) is
'Rejects what cannot be many messages.';
