-- Which partitions of history are to be made, for the days from p_today up to two weeks later, and how.
-- PostgreSQL reads the whole default partition when another one is attached. Where that is large, only what
-- lies behind a fence is to be made; and before there is one, the first day without a partition after
-- p_today stays in the default partition, so that a day without partitions lies before the fence.
-- Answers: the fence, if there is one; whether the default partition is large; the days.
create or replace function lonnymq.history_due(
  p_today bigint, out fence text, out is_large boolean, out days bigint[]
)
language plpgsql
stable
as $$
declare
  v_fence record;
  v_first bigint := p_today;
  v_last bigint := p_today + 15;
begin
  select * into v_fence from lonnymq.history_fence();
  fence := v_fence.name;
  is_large := pg_relation_size('lonnymq.history_other') > 2097152;
  days := lonnymq.history_missing(p_today);
  if fence is not null then
    v_first := v_fence.first;
    v_last := v_fence.last;
  elsif is_large then
    v_first := (select min(d.day) + 1 from unnest(days) as d (day) where d.day > p_today);
  end if;
  days := array(
    select d.day from unnest(days) as d (day)
    where d.day >= v_first and d.day < v_last
    order by d.day
  );
end
$$;

comment on function lonnymq.history_due(bigint) is
'Which partitions of history are to be made, and how.';
