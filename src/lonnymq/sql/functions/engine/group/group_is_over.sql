-- Whether the caller, who has just ended members of the group or sealed the group, is the last to do so.
--
-- No counter tells that, because every settlement would wait for it: the members themselves do. While a member is left
-- that nobody is about to end, the caller is not the last. Else all others are just being ended by transactions whose
-- commit or rollback must be awaited. Two of them must not wait for each other, so only one transaction waits: the
-- holder of an advisory lock. Another caller need not wait, because the holder looks again after it has let go of the
-- lock, and the members of the other caller were ended before.
--
-- The lock, and the locks on rows that show a member to be alive, are let go of by rolling back to a savepoint.
-- A transaction that may not wait, or has waited for 50 ms, leaves a row in group_pending, which is a member until
-- maintenance has looked. So an open transaction holds nobody up, and two that wait for each other are no deadlock.
--
-- Answers: whether the group has no member left.
-- Locks: waits up to 50 ms for transactions that end members or seal the group. In a transaction with a fixed snapshot such a
--   transaction, once committed, is a serialization failure.
create or replace function lonnymq.group_is_over(p_group bigint)
returns boolean
language plpgsql
as $$
declare
  v_state text := 'waited';
  v_witness text;
begin
  while v_state = 'waited' loop
    if lonnymq.group_alive(p_group) then
      return false;
    end if;
    begin
      select p.state, p.witness into v_state, v_witness from lonnymq.group_probe(p_group) p;
      if v_state = 'ending' and coalesce(current_setting('lonnymq.no_wait', true), '') <> 'on' then
        v_state := lonnymq.group_wait(p_group);
      end if;
      raise exception using errcode = '09000';
    exception when sqlstate '09000' then
      null;
    when lock_not_available then
      perform set_config('lonnymq.no_wait', 'on', true);
    end;
    if v_witness is not null then
      perform set_config('lonnymq.witness', v_witness, false);
    end if;
  end loop;
  if v_state = 'ending' then
    insert into lonnymq.group_pending (group_id) values (p_group);
  end if;
  return v_state = 'over';
end
$$;

comment on function lonnymq.group_is_over(bigint) is
'Whether the caller has ended the last member of a group.';
