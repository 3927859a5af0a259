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
  if exists (
    select from lonnymq.queue q
    where q.only_row and q.max_concurrency is not null and q.limit_epoch <> coalesce((
      select m.epoch from lonnymq.channel_counter m where m.channel_id = 0 order by m.version desc limit 1
    ), 0)
  ) then
    perform lonnymq.limit_begin('{0}');
  end if;
end
$$;

comment on function lonnymq.lease_cleanup(bigint, integer) is
'Folds until nothing is left to fold, in maintenance.';
