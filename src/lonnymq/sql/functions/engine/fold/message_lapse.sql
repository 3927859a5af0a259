-- Ends messages that wait and whose expires_at has come, in the order of that time, from p_from on: history says
-- lapsed, key and capacity are free. A message that is leased, or that somebody holds, is left: no dequeue hands it
-- out any more, and maintenance looks at all of them.
--
-- Answers: up to when it has looked at everything (mark), and whether there are more.
-- Locks: the messages, without waiting.
create or replace function lonnymq.message_lapse(
  p_from bigint, p_now bigint, p_limit integer, out mark bigint, out is_more boolean
)
language plpgsql
as $$
declare
  v_ids bigint[];
  v_last bigint;
begin
  mark := greatest(p_from, p_now);
  is_more := false;
  if not exists (select from lonnymq.message m where m.expires_at > p_from and m.expires_at <= p_now) then
    return;
  end if;
  select array_agg(m.id), max(m.expires_at) into v_ids, v_last
  from (
    select m.id, m.expires_at from lonnymq.message m
    where m.expires_at > p_from and m.expires_at <= p_now and m.token is null
    order by m.expires_at
    limit p_limit
  ) m;
  if cardinality(v_ids) >= p_limit then
    mark := v_last - 1;
    is_more := true;
  end if;
  perform set_config('lonnymq.no_wait', 'on', true); -- a dequeue waits for nobody: see group_is_over
  perform lonnymq.message_end(v_ids, p_now, 'lapsed');
end
$$;

comment on function lonnymq.message_lapse(bigint, bigint, integer) is
'Ends waiting messages whose expires_at has come.';
