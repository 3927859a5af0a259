-- Has the default partition of history promise that it holds no rows of the days from p_first up to p_last,
-- which is not included. New rows are held to it at once; history_validate looks at the old ones later,
-- without a lock that anybody waits for.
-- Locks: the caller has history_other in access exclusive mode.
create or replace function lonnymq.history_fence_set(p_first bigint, p_last bigint)
returns void
language plpgsql
as $$
begin
  execute format('
    alter table lonnymq.history_other add constraint fence_%s_%s
    check (finished_at < %s or finished_at >= %s) not valid',
    p_first, p_last, p_first * 86400000, p_last * 86400000);
  execute format('
    create trigger fence before insert on lonnymq.history_other for each row
    when (new.finished_at >= %1$s and new.finished_at < %2$s)
    execute function lonnymq.history_clip(%1$L)',
    p_first * 86400000, p_last * 86400000);
end
$$;

comment on function lonnymq.history_fence_set(bigint, bigint) is
'Adds a constraint that the default partition of history has no rows of some days.';
