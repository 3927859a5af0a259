-- The options of a message, checked. Null for none.
-- Raises LM001.
create or replace function lonnymq.message_option_read(p_options jsonb, p_dequeue_at bigint)
returns lonnymq.message_option
language plpgsql
immutable
as $$
declare
  v_option lonnymq.message_option;
begin
  if p_options is null then
    return null;
  end if;
  perform lonnymq.guard_options(p_options,
    '{"expires_at": "time?", "max_attempts": "count?", "priority": "priority?"}');
  v_option := jsonb_populate_record(null::lonnymq.message_option, p_options);
  if v_option.priority > 0 and p_dequeue_at is not null then
    perform lonnymq.guard_range('dequeue_at of a message with a priority', p_dequeue_at, 0, 4102444800000);
  end if;
  return v_option;
end
$$;

comment on function lonnymq.message_option_read(jsonb, bigint) is
'The options of a message, checked.';
