-- The first notes that are not folded yet, up to p_limit of them: their channels may be unknown to every
-- dequeue. Notes that a fold has left because their channel was busy are not among them.
create or replace function lonnymq.note_unfolded(p_limit integer)
returns setof lonnymq.note
language sql
stable
as $$
  select * from lonnymq.note n
  where n.quiet = any ('{false,true}') and n.xid >= coalesce(
    (select t.until from lonnymq.tick t order by t.id desc limit 1), '0'::xid8)
  limit p_limit
$$;

comment on function lonnymq.note_unfolded(integer) is
'The first notes that are not folded yet.';
