-- Folds until nothing is left to fold, or p_limit leases that ran out were taken back. Maintenance calls
-- this function.
-- Answers: the number of leases that ran out, and of messages that died.
create or replace function lonnymq.lease_cleanup(
  p_now bigint, p_limit integer, out expired bigint, out died bigint
)
language plpgsql
as $$
declare
  v_folded record;
begin
  expired := 0;
  died := 0;
  loop
    select * into v_folded from lonnymq.fold_run(p_now);
    expired := expired + v_folded.expired;
    died := died + v_folded.died;
    exit when v_folded.answer not in ('changes', 'late') or expired + died >= p_limit;
  end loop;
  -- What the queue's own first limit counts is known before the next dequeue asks.
  if not lonnymq.queue_limit_is_split() then
    perform lonnymq.queue_limit_split();
  end if;
end
$$;

comment on function lonnymq.lease_cleanup(bigint, integer) is
'Folds until nothing is left to fold, in maintenance.';
