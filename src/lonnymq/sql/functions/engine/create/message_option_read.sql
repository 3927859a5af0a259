-- The options of a message, checked. Null for none.
-- Raises LM001.
create or replace function lonnymq.message_option_read(
  p_options jsonb, p_dequeue_at bigint, p_key text
)
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
  perform lonnymq.guard_options(p_options, '{
    "expires_at": "time?", "max_attempts": "count?", "priority": "priority?", "unique_for_ms": "ms?",
    "when_duplicate": "duplicate?", "max_delay_ms": "ms?"
  }');
  v_option := jsonb_populate_record(null::lonnymq.message_option, p_options);
  if v_option.priority > 0 and p_dequeue_at is not null then
    perform lonnymq.guard_range('dequeue_at of a message with a priority', p_dequeue_at, 0, 4102444800000);
  end if;
  if p_key is null and (v_option.unique_for_ms, v_option.when_duplicate, v_option.max_delay_ms) is distinct from
    (null, null, null)
  then
    raise exception using errcode = 'LM001',
      message = 'unique_for_ms, when_duplicate and max_delay_ms need a key', hint = 'Give the message a key.';
  end if;
  if v_option.max_delay_ms is not null and v_option.when_duplicate is distinct from 'postpone' then
    raise exception using errcode = 'LM001',
      message = 'max_delay_ms is only for when_duplicate postpone',
      hint = 'Leave max_delay_ms out, or set when_duplicate to postpone.';
  end if;
  return v_option;
end
$$;

comment on function lonnymq.message_option_read(jsonb, bigint, text) is
'The options of a message, checked.';
