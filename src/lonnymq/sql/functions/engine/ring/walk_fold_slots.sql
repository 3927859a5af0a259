-- Folds changes that were left to wait, in the middle of a walk, because they may free slots that are missing
-- (walk_can_fold). The walk goes on with the window that it has just read.
create or replace function lonnymq.walk_fold_slots(p_walk lonnymq.walk)
returns lonnymq.walk
language plpgsql
as $$
begin
  p_walk.is_late := true;
  p_walk := lonnymq.walk_fold(p_walk);
  p_walk.seat := p_walk.seat + case when p_walk.used > 0 then 1 else 0 end;
  return p_walk;
end
$$;

comment on function lonnymq.walk_fold_slots(lonnymq.walk) is
'Folds changes that were left to wait, in the middle of a walk.';
