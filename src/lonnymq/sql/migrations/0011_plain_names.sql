-- Locks: every table that gets a new name, for a moment; calls under way are waited for. Stop workers and
-- producers of earlier versions first: their names are gone.
--
-- Tables, columns and functions get names that say what they are. No rows are rewritten.

-- Functions are put in place as a set after the migrations. What a default or a trigger uses stays.
do $$
declare
  v_function regprocedure;
begin
  for v_function in
    select p.oid from pg_proc p where p.pronamespace = 'lonnymq'::regnamespace and p.prokind = 'f'
  loop
    begin
      execute 'drop function ' || v_function;
    exception when dependent_objects_still_exist then
      null;
    end;
  end loop;
end
$$;

alter table lonnymq.place rename to channel_position;
alter table lonnymq.meter rename to channel_counter;
alter table lonnymq.tick rename to checkpoint;
alter table lonnymq.note rename to change;
alter table lonnymq.confined rename to producer_restriction;
alter table lonnymq.uncounted rename to early_lease;

-- Indexes, sequences and constraints follow their tables.
do $$
declare
  v_each record;
begin
  for v_each in
    select c.relname, c.relkind, t.new_name || substr(c.relname, length(t.old_name) + 1) as new_name
    from pg_class c
    join (
      values ('place', 'channel_position'), ('meter', 'channel_counter'), ('tick', 'checkpoint'),
        ('note', 'change'), ('confined', 'producer_restriction'), ('uncounted', 'early_lease')
    ) as t (old_name, new_name) on c.relname like t.old_name || '\_%'
    where c.relnamespace = 'lonnymq'::regnamespace and c.relkind in ('i', 'S')
  loop
    execute format('alter %s lonnymq.%I rename to %I',
      case v_each.relkind when 'i' then 'index' else 'sequence' end, v_each.relname, v_each.new_name);
  end loop;
end
$$;

-- Policies of roles that may use some channels only.
do $$
declare
  v_each record;
begin
  for v_each in
    select p.tablename from pg_policies p where p.schemaname = 'lonnymq' and p.policyname = 'confined'
  loop
    execute format('alter policy confined on lonnymq.%I rename to restricted', v_each.tablename);
  end loop;
end
$$;

alter table lonnymq.change rename column told to notified;
alter table lonnymq.change rename column quiet to can_wait;
alter table lonnymq.change rename column look to rescan;
alter table lonnymq.checkpoint rename column told_at to notified_at;
alter table lonnymq.checkpoint rename column until to until_xid;
alter table lonnymq.checkpoint rename column again to running_xids;

alter type lonnymq.walk rename attribute until to until_xid;
alter type lonnymq.walk rename attribute again to running_xids;
alter type lonnymq.walk rename attribute is_told to has_changes;
alter type lonnymq.walk rename attribute tick_id to checkpoint_id;
alter type lonnymq.fold_batch rename attribute has_told to has_notified;
alter type lonnymq.fold_batch rename attribute looks to rescans;
alter type lonnymq.fold_batch rename attribute again to running_xids;

-- The words that people use.
alter table lonnymq.queue rename column default_release_interval_ms to default_min_interval_ms;
alter table lonnymq.channel rename column release_interval_ms to min_interval_ms;
alter table lonnymq.channel rename column releasing to retiring;
alter table lonnymq.channel_setting rename column release_interval_ms to min_interval_ms;
alter table lonnymq.channel_setting rename column releasing to retiring;
alter index lonnymq.channel_setting_releasing_ix rename to channel_setting_retiring_ix;
alter table lonnymq.load rename column refused to rejected;
alter table lonnymq.schedule rename column zone to timezone;
alter table lonnymq.schedule rename column missed to misfire;
alter table lonnymq.schedule rename column tick_at to last_run_at;
alter table lonnymq.worker rename column again_ms to interval_ms;
alter type lonnymq.dequeued rename attribute look_at to retry_at;
alter table lonnymq.message rename column name to key;
alter table lonnymq.dead rename column name to key;
alter table lonnymq.history rename column name to key;
alter table lonnymq.stage_row rename column name to key;
alter type lonnymq.dequeued rename attribute name to key;
alter index lonnymq.message_name_ix rename to message_key_ix;

alter table lonnymq.queue drop constraint queue_default_when_full_check;
alter table lonnymq.channel_setting drop constraint channel_setting_when_full_check;
-- The row of queue remembers who wrote it, unless a restore has brought the row.
do $$
declare
  v_is_own boolean := (select q.written_by = q.xmin from lonnymq.queue q where q.only_row);
begin
  update lonnymq.queue q set default_when_full = 'reject' where q.default_when_full = 'refuse';
  if v_is_own then
    update lonnymq.queue q set written_by = q.xmin where q.only_row;
  end if;
end
$$;
update lonnymq.channel_setting set when_full = 'reject' where when_full = 'refuse';
update lonnymq.channel set when_full = 'reject' where when_full = 'refuse';
alter table lonnymq.queue alter column default_when_full set default 'reject',
  add constraint queue_default_when_full_check check (default_when_full in ('reject', 'drop'));
alter table lonnymq.channel_setting
  add constraint channel_setting_when_full_check check (when_full in ('reject', 'drop'));
