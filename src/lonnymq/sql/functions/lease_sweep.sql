-- Folds until nothing is left to fold, or p_limit leases that ran out were taken back: for a sweep.
-- Answers: how many leases ran out, and how many of their messages died.
create or replace function lonnymq.lease_sweep(
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
    exit when v_folded.answer not in ('notes', 'late') or expired + died >= p_limit;
  end loop;
end
$$;

comment on function lonnymq.lease_sweep(bigint, integer) is
'Folds until nothing is left to fold, for a sweep.';
