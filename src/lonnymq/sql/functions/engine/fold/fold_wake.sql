-- Ends messages that have expired, and gives a seat to channels whose time has come, in the ring of all and in the
-- rings of kinds if there are any.
-- Answers: up to when everything was looked at (mark), whether there are more, and whether there are rings of kinds.
-- Locks: the channels, without waiting.
create or replace function lonnymq.fold_wake(
  p_from bigint, p_now bigint, p_limit integer, out mark bigint, out is_more boolean,
  out has_kinds boolean
)
language plpgsql
as $$
declare
  v_kinds record;
  v_lapsed record;
begin
  select w.mark, w.is_more into mark, is_more from lonnymq.channel_wake_due(p_from, p_now, p_limit) w;
  select * into v_lapsed from lonnymq.message_lapse(p_from, p_now, p_limit);
  mark := least(mark, v_lapsed.mark);
  is_more := is_more or v_lapsed.is_more;
  has_kinds := exists (select from lonnymq.kind_filter f where f.id > 0);
  if has_kinds then
    select * into v_kinds from lonnymq.kind_wake_due(p_from, p_now, p_limit);
    mark := least(mark, v_kinds.mark);
    is_more := is_more or v_kinds.is_more;
  end if;
end
$$;

comment on function lonnymq.fold_wake(bigint, bigint, integer) is
'Gives a seat to channels whose time has come.';
