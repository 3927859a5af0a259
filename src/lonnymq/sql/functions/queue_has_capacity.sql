-- Whether any channel has a capacity: if none has, nobody needs to tell how many messages end.
-- In plpgsql: a function in SQL that has a subquery is planned anew by every call.
create or replace function lonnymq.queue_has_capacity()
returns boolean
language plpgsql
stable
as $$
begin
  return exists (select from lonnymq.channel_setting s where s.max_size is not null)
    or exists (select from lonnymq.channel c where c.max_size is not null)
    or exists (select from lonnymq.queue q where q.only_row and q.default_max_size is not null);
end
$$;

comment on function lonnymq.queue_has_capacity() is
'Whether any channel has a capacity.';
