-- What changes that are not folded yet tell of a channel's size, and whether they tell all of it: not where
-- messages came in by COPY. p_is_new: some may have known of no capacity, for they ran when counting began.
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
'What notes that are not folded yet tell of a channel''s size.';
