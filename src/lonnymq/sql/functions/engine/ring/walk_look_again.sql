-- Makes sure, for a call that is not the folder, that no folder has moved a floor up and committed
-- between the call's read of the changes and the read of the channels: a change that can wait would be
-- missed. A floor never moves up without a new checkpoint.
-- Answers: the walk with the present changes, and the checkpoint of these changes. is_same tells whether
--   the call may continue with the channels that were read.
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
'Makes sure that no folder has moved a floor between two reads of a call.';
