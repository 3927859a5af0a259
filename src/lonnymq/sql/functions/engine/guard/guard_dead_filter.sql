-- Rejects a redrive or purge of dead messages without ids, channel or kind.
-- Answers: nothing. Raises LM001.
create or replace function lonnymq.guard_dead_filter(
  p_ids bigint[], p_channel text, p_kind text, p_limit integer
)
returns void
language plpgsql
immutable
as $$
begin
  if p_ids is null and p_channel is null and p_kind is null then
    raise exception using errcode = 'LM001', message = 'ids, a channel or a kind must be given',
      hint = 'Use p_channel => ''*'' for every channel.';
  end if;
  perform lonnymq.guard_range('limit', p_limit, 1, 1000000);
end
$$;

comment on function lonnymq.guard_dead_filter(bigint[], text, text, integer) is
'Rejects a redrive or purge of dead messages without a filter.';
