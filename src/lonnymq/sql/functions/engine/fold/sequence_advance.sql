-- Brings the sequences up to the rows. Logical replication copies rows, but not sequences: seats and ids that are
-- in use would be given once more, and seats beyond the last value would not be visited.
-- Called by the folder where another cluster has written the newest checkpoint.
create or replace function lonnymq.sequence_advance()
returns void
language sql
volatile
as $$
  select setval(s.name::regclass, s.highest)
  from (
    select 'lonnymq.seat_seq' as name,
      (select p.seat from lonnymq.channel_position p where p.seat > 0 order by p.seat desc limit 1)
        as highest
    union all
    select 'lonnymq.channel_id_seq',
      (select c.id from lonnymq.channel c order by c.id desc limit 1)
    union all
    select 'lonnymq.message_id_seq', greatest(
      (select m.id from lonnymq.message m order by m.id desc limit 1),
      (select d.id from lonnymq.dead d order by d.id desc limit 1),
      (select h.message_id from lonnymq.history h order by h.message_id desc limit 1))
    union all
    select 'lonnymq.limit_epoch_seq', greatest(
      (select max(c.limit_epoch) from lonnymq.channel_setting c),
      (select q.limit_epoch from lonnymq.queue q where q.only_row))
    union all
    select 'lonnymq.schedule_version_seq', (select max(s.version) from lonnymq.schedule s)
  ) s
  where s.highest > (
    select coalesce(pg_sequence_last_value(s.name::regclass), 0)
  )
$$;

comment on function lonnymq.sequence_advance() is
'Brings the sequences up to the rows, which logical replication does not.';
