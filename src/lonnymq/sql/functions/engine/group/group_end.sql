-- Ends a group without members: creates the callback message with the counts in its headers. Its channel's capacity does
-- not apply to the callback, because there is nobody to answer that to.
-- Locks: the group. Waits up to 50 ms for transactions that add members to the sealed group, and looks again. After
--   that, maintenance looks again (group_pending).
-- Notifies: yes.
create or replace function lonnymq.group_end(p_group bigint)
returns void
language plpgsql
as $$
declare
  v_group lonnymq.message_group;
  v_id bigint;
  v_is_sized boolean;
  v_timeout constant text := current_setting('lock_timeout');
begin
  begin
    perform set_config('lock_timeout',
      case when current_setting('lonnymq.no_wait', true) = 'on' then '1ms' else '50ms' end, true);
    select * into v_group from lonnymq.message_group g
    where g.id = p_group and g.sealed and g.ended_at is null for update;
    perform set_config('lock_timeout', v_timeout, true);
  exception when lock_not_available then
    insert into lonnymq.group_pending (group_id) values (p_group);
    return;
  end;
  if v_group.id is null or exists (select from lonnymq.message m where m.group_id = p_group)
    or exists (select from lonnymq.group_pending p where p.group_id = p_group)
  then
    return;
  end if;
  perform lonnymq.commit_durably();
  select coalesce(sum(t.completed), 0), coalesce(sum(t.dead), 0), coalesce(sum(t.cancelled), 0)
  into v_group.completed, v_group.dead, v_group.cancelled
  from lonnymq.group_tally t where t.group_id = p_group;
  delete from lonnymq.group_tally t where t.group_id = p_group;

  v_id := nextval('lonnymq.message_id_seq');
  v_group.ended_at := lonnymq.epoch();
  insert into lonnymq.message (id, channel, content, dequeue_at, created_at, kind, headers)
  values (v_id, v_group.channel, v_group.content, v_group.ended_at, v_group.ended_at, v_group.kind,
    coalesce(v_group.headers, '{}') || jsonb_build_object('group', jsonb_build_object('id', p_group,
      'completed', v_group.completed, 'dead', v_group.dead, 'cancelled', v_group.cancelled)));
  select s.max_size is not null or lonnymq.snapshot_is_fixed() into v_is_sized
  from lonnymq.channel_capacity(v_group.channel) s;
  insert into lonnymq.change (channel, dequeue_at, message_id, size, added, notified)
  values (v_group.channel, v_group.ended_at, v_id, v_is_sized::integer, 1 - v_is_sized::integer, true);
  perform pg_notify('lonnymq', '');
  update lonnymq.message_group g
  set ended_at = v_group.ended_at, callback_id = v_id, completed = v_group.completed,
    dead = v_group.dead, cancelled = v_group.cancelled, content = '', headers = null
  where g.id = p_group;
end
$$;

comment on function lonnymq.group_end(bigint) is
'Ends a group without members, and creates the callback message.';
