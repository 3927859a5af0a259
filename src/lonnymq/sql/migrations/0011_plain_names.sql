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
