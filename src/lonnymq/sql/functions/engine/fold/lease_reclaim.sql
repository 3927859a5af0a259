-- Takes back leases that have run out: their messages go back into their channel's line where they
-- were, or are dead if that was the last attempt. Looks at leases that were to end after p_from, and takes
-- back at most 500 of them: work that is done is kept, the next call goes on.
--
-- Answers: up to when it has looked at everything (mark), how many went back, how many died, and whether
--   there are more to look at.
-- Locks: the messages, without ever waiting for one: what is being settled at this moment is left
--   to its settler and looked at again (lease_unlocked).
create or replace function lonnymq.lease_reclaim(
  p_from bigint, p_now bigint,
  out mark bigint, out expired bigint, out died bigint, out is_more boolean
)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_late bigint[];
  v_due bigint[];
  v_next_ats bigint[];
begin
  mark := greatest(p_from, p_now);
  expired := 0;
  died := 0;
  is_more := false;
  if not exists (select from lonnymq.lease l where l.due_at > p_from and l.due_at <= p_now) then
    return;
  end if;
  v_late := lonnymq.lease_late(p_from, p_now, 10000, 500);
  select l.due_at - 1 into mark from lonnymq.lease l
  where l.due_at > p_from and l.due_at <= p_now order by l.due_at limit 1;
  is_more := found;
  mark := coalesce(mark, p_now);
  if v_late is null then
    return;
  end if;
  with held as materialized (
    select m.id, m.dequeue_at from lonnymq.message m
    where m.id = any (v_late) and m.token is not null and m.lease_until <= p_now
    order by m.id
    for update skip locked
  )
  select array_agg(h.id), array_agg(h.dequeue_at) into v_due, v_next_ats from held h;
  if cardinality(v_due) is distinct from cardinality(v_late) then
    insert into lonnymq.lease (due_at, message_ids, is_settling)
    select p_now + 100, array_agg(l.id), true
    from (select unnest(v_late) except select unnest(v_due)) as l (id);
  end if;
  if v_due is null then
    return;
  end if;
  perform set_config('lonnymq.no_wait', 'on', true); -- a dequeue waits for nobody: see group_is_over
  select count(*) filter (where e.answer <> 'dead'), count(*) filter (where e.answer = 'dead')
  into expired, died
  from lonnymq.lease_end(v_due, null, 'expired', p_now, v_next_ats,
    p_errors => array_fill('the lease ran out'::text, array[cardinality(v_due)])) e;
end
$$;

comment on function lonnymq.lease_reclaim(bigint, bigint) is
'Takes back leases that have run out.';
