-- The first changes that are not folded yet, up to p_limit of them: their channels may be unknown to every
-- dequeue. Notes that a fold has left because their channel was busy are not among them.
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
'The first notes that are not folded yet.';
