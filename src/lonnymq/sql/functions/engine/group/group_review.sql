-- The part of groups in maintenance: ends groups whose last member ended in a transaction that may not wait, adds up
-- tallies, and deletes groups that ended longer ago than history is kept. Waits for nobody.
create or replace function lonnymq.group_review(p_now bigint)
returns void
language plpgsql
as $$
declare
  v_pending record;
begin
  perform set_config('lonnymq.no_wait', 'on', true);
  for v_pending in
    select p.id, p.group_id from lonnymq.group_pending p order by p.id limit 100 for update skip locked
  loop
    delete from lonnymq.group_pending p where p.id = v_pending.id;
    if lonnymq.group_is_over(v_pending.group_id) then
      perform lonnymq.group_end(v_pending.group_id);
    end if;
  end loop;

  with many as (
    select t.group_id from (select t.group_id from lonnymq.group_tally t limit 100000) t
    group by t.group_id having count(*) > 100 limit 10
  ), taken as (
    select t.ctid as tid from many m
    cross join lateral (
      select t.ctid from lonnymq.group_tally t where t.group_id = m.group_id limit 100000 for update skip locked
    ) t
  ), gone as (
    delete from lonnymq.group_tally t using taken k where t.ctid = k.tid
    returning t.*
  )
  insert into lonnymq.group_tally (group_id, completed, dead, cancelled)
  select g.group_id, sum(g.completed), sum(g.dead), sum(g.cancelled) from gone g group by g.group_id;

  delete from lonnymq.message_group g
  where g.id = any (array(
    select g.id from lonnymq.message_group g
    where g.ended_at < p_now - (select q.history_keep_ms from lonnymq.queue q where q.only_row)
    order by g.ended_at limit 1000 for update skip locked
  ));
end
$$;

comment on function lonnymq.group_review(bigint) is
'The part of groups in maintenance.';
