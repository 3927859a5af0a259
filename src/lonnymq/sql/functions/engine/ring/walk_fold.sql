-- Folds before a dequeue leases messages, and finds the consumer's seat in the ring after that.
--
-- Everything that is committed when the call begins takes part. Changes that another call is folding, or
-- that this call cannot fold because another call holds the channel, or because there are too many, are
-- read directly. The next call continues folding.
-- Locks: the locks of fold_run. The call waits for nothing.
create or replace function lonnymq.walk_fold(p_walk lonnymq.walk)
returns lonnymq.walk
language plpgsql
as $$
declare
  v_folded text;
  v_stop timestamptz;
begin
  if p_walk.is_folder and (p_walk.has_changes or p_walk.is_late) then
    v_stop := clock_timestamp() + interval '50 milliseconds';
    loop
      select f.answer into v_folded from lonnymq.fold_run(p_walk.now_at) f;
      exit when v_folded <> 'changes' or clock_timestamp() > v_stop;
    end loop;
    p_walk.is_contended := v_folded <> 'done';
    -- Leases are dated after what was folded: what they were waiting for has happened by then.
    p_walk.now_at := lonnymq.epoch();
    select t.until_xid, t.running_xids, t.has_moved, t.seat_floor, s.last_value
    into p_walk.until_xid, p_walk.running_xids, p_walk.has_moved, p_walk.seat_floor, p_walk.seat_last
    from lonnymq.checkpoint_now() t cross join lonnymq.seat_seq s;
  end if;
  if (p_walk.has_changes or p_walk.is_late) and v_folded is distinct from 'done' then
    p_walk := lonnymq.change_pending(p_walk);
  end if;

  if p_walk.filter_id is not null then
    p_walk := lonnymq.kind_floor(p_walk);
    if p_walk.filter_id = 0 then
      p_walk.is_contended := true;
      p_walk.remaining := 0;
    end if;
  end if;
  -- A cursor of another queue, or of this one before it was restored, means nothing.
  if (p_walk.seat between 0 and p_walk.seat_last
    and p_walk.lap between -p_walk.seat_last and p_walk.seat_last) is not true
  then
    p_walk.seat := p_walk.seat_floor - 1
      + floor(random() * (p_walk.seat_last - p_walk.seat_floor + 1));
    p_walk.lap := p_walk.seat_last;
    p_walk.used := 0;
  elsif p_walk.seat < p_walk.seat_floor - 1 then
    -- Those between have left the ring: who was away for long does not walk past what is left of them.
    p_walk.seat := p_walk.seat_floor - 1;
    p_walk.used := 0;
  end if;
  return p_walk;
end
$$;

comment on function lonnymq.walk_fold(lonnymq.walk) is
'Folds before a dequeue leases messages, and finds the consumer''s seat in the ring.';
