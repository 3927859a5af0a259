-- Drops filters and their rings, under the fold lock. The next dequeue that asks for the kinds builds the ring again.
create or replace function lonnymq.kind_filter_drop(p_ids bigint[])
returns void
language plpgsql
as $$
begin
  delete from lonnymq.kind_position p where p.filter_id = any (p_ids) and p.seat is not null;
  delete from lonnymq.kind_position p where p.filter_id = any (p_ids) and p.wake_at is not null;
  delete from lonnymq.kind_filter f where f.id = any (p_ids);
end
$$;

comment on function lonnymq.kind_filter_drop(bigint[]) is
'Drops filters and their rings.';
