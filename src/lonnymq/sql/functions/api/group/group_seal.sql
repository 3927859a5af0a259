-- Seals a group: from now on the group ends when no member is left. Without any member the group ends at once.
--
-- Answers: `sealed`, `already_sealed` (the group may have ended), `not_found`.
-- Locks: the group. Waits for transactions that add members.
-- Notifies: if the group ends.
create or replace function lonnymq.group_seal(p_group_id bigint)
returns text
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
  perform lonnymq.commit_durably();
  perform pg_advisory_xact_lock(lonnymq.group_lock_key(p_group_id, 'open'));
  update lonnymq.message_group g set sealed = true
  where g.id = p_group_id and not g.sealed
    and (current_user = session_user or lonnymq.channel_permitted(g.channel));
  if not found then
    return case when exists (
      select from lonnymq.message_group g where g.id = p_group_id
        and (current_user = session_user or lonnymq.channel_permitted(g.channel))
    ) then 'already_sealed' else 'not_found' end;
  end if;
  if lonnymq.group_is_over(p_group_id) then
    perform lonnymq.group_end(p_group_id);
  end if;
  return 'sealed';
end
$$;

comment on function lonnymq.group_seal(bigint) is
'Seals a group: the group ends when no member is left.';
