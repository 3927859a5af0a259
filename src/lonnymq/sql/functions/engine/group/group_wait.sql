-- Waits up to 50 ms for a transaction that is just ending a member of a group, unless somebody else does: see
-- group_is_over, which rolls back to a savepoint and so sets lock_timeout back.
-- Answers: waited, or delegated (another transaction waits and looks again afterwards). Raises lock_not_available.
create or replace function lonnymq.group_wait(p_group bigint)
returns text
language plpgsql
as $$
begin
  if not pg_try_advisory_xact_lock(lonnymq.group_lock_key(p_group, 'wait')) then
    return 'delegated';
  end if;
  perform set_config('lock_timeout', '50ms', true);
  perform from lonnymq.message m where m.group_id = p_group limit 1 for key share;
  perform from lonnymq.message_group g where g.id = p_group and not g.sealed for share;
  perform from lonnymq.group_pending p where p.group_id = p_group limit 1 for key share;
  return 'waited';
end
$$;

comment on function lonnymq.group_wait(bigint) is
'Waits for a transaction that is just ending a member of a group.';
