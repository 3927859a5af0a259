-- Begins the walk of a dequeue that asks for kinds: finds the filter, and whether something must be folded for its
-- ring. The ring knows no change that can wait, because the author of the change looked at the channel, not at the ring.
-- The folder makes the filter where there is none, and builds its ring (kind_build).
-- Answers: the walk with the filter, or with filter 0 while the ring is not built.
create or replace function lonnymq.kind_begin(p_walk lonnymq.walk, p_kinds text[])
returns lonnymq.walk
language plpgsql
as $$
declare
  v_filter lonnymq.kind_filter;
begin
  p_walk.kinds := array(
    select distinct coalesce(k.kind, '') collate "C" from unnest(p_kinds) as k (kind) order by 1);
  select * into v_filter from lonnymq.kind_filter f where f.hash = md5(p_walk.kinds::text)::uuid;
  if p_walk.is_folder and p_walk.until_xid <> '0' then
    if v_filter.id is null then
      v_filter := lonnymq.kind_filter_add(p_walk.kinds, p_walk.now_at);
    end if;
    if v_filter.built < cardinality(v_filter.kinds) then
      v_filter := lonnymq.kind_build(v_filter);
    end if;
    if v_filter.used_at < p_walk.now_at - 60000 then
      update lonnymq.kind_filter f set used_at = p_walk.now_at where f.id = v_filter.id;
    end if;
  end if;
  -- The fold of a restored queue drops the filters, this one too.
  p_walk.filter_id := case when p_walk.until_xid <> '0' and v_filter.built = cardinality(v_filter.kinds)
    then v_filter.id else 0 end;
  p_walk.is_late := p_walk.is_late or p_walk.until_xid = '0' or exists (
    select from lonnymq.change n where n.can_wait and n.xid >= p_walk.until_xid and n.dequeue_at is not null
  ) or exists (
    select from lonnymq.kind_position p
    where p.filter_id = p_walk.filter_id and p.wake_at <= p_walk.now_at
      and p.wake_at > (select t.wake_mark from lonnymq.checkpoint_now() t)
  );
  return p_walk;
end
$$;

comment on function lonnymq.kind_begin(lonnymq.walk, text[]) is
'Begins the walk of a dequeue that asks for kinds.';
