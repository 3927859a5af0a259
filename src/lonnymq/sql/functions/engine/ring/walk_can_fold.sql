-- Whether a walk can still fold changes that were left to wait: the call holds the fold lock, has not folded yet, and
-- there are such changes.
create or replace function lonnymq.walk_can_fold(p_walk lonnymq.walk)
returns boolean
language sql
stable
as $$
  select p_walk.is_folder and not p_walk.has_changes and not p_walk.is_late and exists (
    select from lonnymq.change n where n.can_wait and n.xid >= p_walk.until_xid and n.message_ids is null
  )
$$;

comment on function lonnymq.walk_can_fold(lonnymq.walk) is
'Whether a walk can still fold changes that were left to wait.';
