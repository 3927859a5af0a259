-- Drops old stages that were not published, and deletes old records of loads. The last load of each app
-- stays, because a stream that continues later repeats this load. Loads of generated apps (`once …`)
-- cannot be repeated and are all deleted. After a stage is dropped, the load of the stage cannot be
-- published any more.
--
-- Answers: the number of dropped stages and of deleted loads.
-- Locks: the dropped stages. A stage in use is skipped.
-- Notifies: no.
create or replace function lonnymq.stage_cleanup(
  p_stage_ms bigint default 86400000,
  p_load_ms bigint default 2592000000,
  out dropped bigint,
  out forgotten bigint
)
language plpgsql
as $$
declare
  v_now bigint := lonnymq.epoch();
  v_stage bigint;
begin
  perform lonnymq.guard_range('stage_ms', p_stage_ms, 0, 3155760000000);
  perform lonnymq.guard_range('load_ms', p_load_ms, 0, 3155760000000);
  dropped := 0;
  for v_stage in
    select s.id from lonnymq.stage s
    where s.made_at <= v_now - p_stage_ms
    order by s.id limit 100
    for update skip locked
  loop
    begin
      execute format('lock table lonnymq.%I in access exclusive mode nowait', 'stage_' || v_stage);
      execute format('drop table lonnymq.%I', 'stage_' || v_stage);
    exception
      when lock_not_available then
        continue;
      when undefined_table then
        null;
    end;
    delete from lonnymq.stage s where s.id = v_stage;
    dropped := dropped + 1;
  end loop;
  delete from lonnymq.load l
  where l.published_at <= v_now - p_load_ms and (l.app like 'once %' or exists (
    select from lonnymq.load n where n.app = l.app and n.version > l.version
  ));
  get diagnostics forgotten = row_count;
end
$$;

comment on function lonnymq.stage_cleanup(bigint, bigint) is
'Drops old stages that were not published, and deletes old records of loads.';
