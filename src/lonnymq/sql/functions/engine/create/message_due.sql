-- When a message is due: at the moment given, or after the delay given, or since its transaction began.
create or replace function lonnymq.message_due(
  p_dequeue_at bigint, p_delay_ms bigint, p_now bigint, p_begin bigint
)
returns bigint
language sql
immutable
as $$
  select coalesce(p_dequeue_at, case when p_delay_ms > 0 then p_now + p_delay_ms else p_begin end)
$$;

comment on function lonnymq.message_due(bigint, bigint, bigint, bigint) is
'When a message is due.';
