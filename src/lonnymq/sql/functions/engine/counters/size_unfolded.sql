-- The size that unfolded changes add to a channel, and whether the changes are complete: not after a
-- COPY. p_is_new: some transactions ran when counting began and may not have known the capacity.
create or replace function lonnymq.size_unfolded(
  p_channel text, p_is_new boolean, out size bigint, out has_changes boolean
)
language sql
stable
as $$
  select coalesce(sum(n.size), 0), not coalesce(bool_or(n.recount), false)
  from lonnymq.checkpoint_now() t
  cross join lateral (
    select n.size, n.recount from lonnymq.change n
    where n.channel = p_channel and (n.size <> 0 or n.recount) and n.xid >= t.until_xid
    union all
    select n.size, n.recount from lonnymq.change n
    where n.channel = p_channel and (n.size <> 0 or n.recount) and n.xid = any (t.running_xids)
      and n.xid < t.until_xid
    union all
    select n.added, false from lonnymq.change n
    where p_is_new and n.can_wait = any ('{false,true}') and n.added <> 0
      and n.channel = p_channel and n.xid >= t.until_xid
    union all
    select n.added, false from lonnymq.change n
    where p_is_new and n.can_wait = any ('{false,true}') and n.added <> 0
      and n.channel = p_channel and n.xid = any (t.running_xids) and n.xid < t.until_xid
  ) n
$$;

comment on function lonnymq.size_unfolded(text, boolean) is
'The size that unfolded changes add to a channel.';
