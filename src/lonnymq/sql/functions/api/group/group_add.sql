-- Adds live messages to a group, usually in the transaction that creates the messages. You can add messages until the
-- group has ended: always before the group is sealed, and afterwards as long as a member is left. Calls for a sealed
-- group wait for each other.
--
-- Answers: the number of added messages.
-- Locks: the messages. The group too, if the group is sealed.
-- Notifies: no.
create or replace function lonnymq.group_add(p_group_id bigint, p_ids bigint[])
returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_has_roles boolean := current_user <> session_user;
  v_added bigint[];
begin
  if p_group_id is null or cardinality(p_ids) > 10000 then
    raise exception using errcode = 'LM001', message = format(
      'group_add needs a group and at most 10000 ids, got group %s and %s ids',
      coalesce(p_group_id::text, 'null'), coalesce(cardinality(p_ids), 0));
  end if;
  perform lonnymq.commit_durably();
  perform lonnymq.group_open(p_group_id);
  with added as (
    update lonnymq.message m set group_id = p_group_id
    where m.id = any (p_ids) and m.group_id is null
      and (not v_has_roles or lonnymq.channel_permitted(m.channel))
    returning m.id
  )
  select array_agg(a.id) into v_added from added a;
  if cardinality(v_added) is distinct from nullif(cardinality(p_ids), 0) then
    raise exception using errcode = 'LM001', message = format(
      'message %s cannot be added to group %s: the message has ended, is in a group already, or was given twice',
      coalesce((select i.id from unnest(p_ids) as i (id) where i.id <> all (coalesce(v_added, '{}')) limit 1),
        (select i.id from unnest(p_ids) as i (id) group by i.id having count(*) > 1 limit 1)),
      p_group_id);
  end if;
  return coalesce(cardinality(v_added), 0);
end
$$;

comment on function lonnymq.group_add(bigint, bigint[]) is
'Adds live messages to a group.';
