-- Makes sure, for a call that is not the folder, that the channels which it has just read stand where the
-- changes say that it has read before: a folder may have moved a floor up and committed between the two looks,
-- and a change that could wait would be overlooked. A floor is never moved up without the checkpoint's knowledge.
-- Answers: the walk with the changes as they are now, and the checkpoint that they were read by; is_same says
--   whether the call may go on with what it has.
create or replace function lonnymq.walk_look_again(p_walk lonnymq.walk)
returns lonnymq.walk
language plpgsql
stable
as $$
begin
  perform from lonnymq.checkpoint t where t.id = p_walk.checkpoint_id and t.has_moved = p_walk.has_moved;
  p_walk.is_same := found;
  if p_walk.is_same then
    return p_walk;
  end if;
  select t.id, t.until_xid, t.running_xids, t.has_moved
  into p_walk.checkpoint_id, p_walk.until_xid, p_walk.running_xids, p_walk.has_moved
  from lonnymq.checkpoint_now() t;
  return lonnymq.change_pending(p_walk);
end
$$;

comment on function lonnymq.walk_look_again(lonnymq.walk) is
'Makes sure that no folder has moved a floor between two looks of a call.';
