-- The first p_limit changes that are not folded yet. Dequeues may not know the channels of these
-- changes. Changes that a fold left out because the channel was locked are not included.
create or replace function lonnymq.change_unfolded(p_limit integer)
returns setof lonnymq.change
language sql
stable
as $$
  select * from lonnymq.change n
  where n.can_wait = any ('{false,true}') and n.xid >= coalesce(
    (select t.until_xid from lonnymq.checkpoint t order by t.id desc limit 1), '0'::xid8)
  limit p_limit
$$;

comment on function lonnymq.change_unfolded(integer) is
'The first changes that are not folded yet.';
