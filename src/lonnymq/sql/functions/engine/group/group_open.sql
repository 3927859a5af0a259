-- Makes sure that a group does not end before this transaction has, so that members can be added. Before the seal that
-- is a lock that all who add share, and that the seal waits for. Afterwards it is a write of the group, which the end
-- of the group waits for.
-- Answers: nothing. Raises LM001 if the group has ended, or is none of a login that is restricted to other channels.
create or replace function lonnymq.group_open(p_group bigint)
returns void
language plpgsql
as $$
declare
  v_is_hidden boolean := current_user <> session_user and not exists (
    select from lonnymq.message_group g where g.id = p_group and lonnymq.channel_permitted(g.channel)
  );
begin
  perform pg_advisory_xact_lock_shared(lonnymq.group_lock_key(p_group, 'open'));
  if lonnymq.snapshot_is_fixed() then
    -- An older snapshot may show a group as open that is not.
    perform from lonnymq.message_group g where g.id = p_group and not g.sealed and not v_is_hidden for share;
  else
    perform from lonnymq.message_group g where g.id = p_group and not g.sealed and not v_is_hidden;
  end if;
  if found then
    return;
  end if;
  update lonnymq.message_group g set additions = g.additions + 1
  where g.id = p_group and g.ended_at is null and not v_is_hidden;
  if not found then
    raise exception using errcode = 'LM001',
      message = format('group %s does not exist or has ended', p_group),
      hint = 'Add messages before the group is sealed, or while a member of the group is left.';
  end if;
end
$$;

comment on function lonnymq.group_open(bigint) is
'Makes sure that a group does not end before this transaction has.';
