-- Deletes waiting messages that the caller names, and tells the engine how much smaller their
-- channels are. Messages that another transaction holds are left.
-- Answers: which ones are gone.
create or replace function lonnymq.message_remove(p_ids bigint[])
returns bigint[]
language plpgsql
as $$
declare
  v_gone bigint[];
begin
  select array_agg(h.id) into v_gone
  from (
    select m.id from lonnymq.message m
    where m.id = any (p_ids) and m.token is null
    order by m.id
    for update skip locked
  ) h;
  with gone as (
    delete from lonnymq.message m where m.id = any (v_gone) returning m.channel
  )
  insert into lonnymq.note (channel, size)
  select g.channel, -count(*)
  from gone g
  cross join lateral lonnymq.channel_capacity(g.channel) s
  where s.max_size is not null
  group by g.channel;
  return coalesce(v_gone, '{}');
end
$$;

comment on function lonnymq.message_remove(bigint[]) is
'Deletes waiting messages, and tells the engine.';
