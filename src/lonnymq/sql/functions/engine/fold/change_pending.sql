-- The changes of committed messages that are not folded yet, for a call that could not fold: {channel:
-- [dequeue_at, id]} with the first message of each channel, so that the walk starts there. After a COPY
-- the walk reads the whole channel, because a COPY writes no change per message. If there are more
-- changes than this function reads, the walk reads every channel whole: {"": [first moment, 0]}.
create or replace function lonnymq.change_pending(p_walk lonnymq.walk)
returns lonnymq.walk
language plpgsql
stable
as $$
declare
  c_most constant integer := 2000;
  v_count bigint;
begin
  select count(*), jsonb_object_agg(n.channel, jsonb_build_array(n.dequeue_at, coalesce(n.message_id, 0)))
    filter (where n.is_first and n.dequeue_at is not null)
  into v_count, p_walk.pending
  from (
    select n.channel, n.dequeue_at, n.message_id, row_number() over (
      partition by n.channel order by n.dequeue_at, n.message_id) = 1 as is_first
    from (
      (
        select n.channel, n.message_id,
          case when n.recount then -9223372036854775808 else n.dequeue_at end as dequeue_at
        from lonnymq.change n
        where n.can_wait = any (case when p_walk.has_moved or p_walk.filter_id is not null then '{false,true}' else '{false}' end::boolean[])
          and n.xid >= p_walk.until_xid and n.message_ids is null
        limit c_most
      )
      union all
      (
        select n.channel, n.message_id,
          case when n.recount then -9223372036854775808 else n.dequeue_at end
        from lonnymq.change n
        where n.can_wait = any ('{false,true}') and n.xid = any (p_walk.running_xids) and n.xid < p_walk.until_xid
          and n.message_ids is null
        limit c_most
      )
    ) n
  ) n;
  if v_count >= c_most then
    p_walk.pending := jsonb_build_object('', jsonb_build_array(-9223372036854775808, 0));
  end if;
  return p_walk;
end
$$;

comment on function lonnymq.change_pending(lonnymq.walk) is
'The changes of committed messages that are not folded yet.';
