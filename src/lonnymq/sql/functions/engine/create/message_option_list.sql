-- The options of many messages, checked: see message_option_read. Null for none.
create or replace function lonnymq.message_option_list(
  p_options jsonb[], p_dequeue_ats bigint[], p_keys text[], p_length integer
)
returns lonnymq.message_option[]
language plpgsql
immutable
as $$
begin
  perform lonnymq.guard_aligned('options', p_options, p_length);
  if p_options is null then
    return null;
  end if;
  return array(
    select lonnymq.message_option_read(i.options, i.dequeue_at, i.key)
    from unnest(p_options, p_dequeue_ats, p_keys) as i (options, dequeue_at, key)
  );
end
$$;

comment on function lonnymq.message_option_list(jsonb[], bigint[], text[], integer) is
'The options of many messages, checked.';
