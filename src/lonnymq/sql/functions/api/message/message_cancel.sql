-- Cancels messages, waiting or running. History says `cancelled`. The token of a running message is worthless
-- from the commit on, and the slot is free. The worker learns of this by the next heartbeat.
--
-- Answers: `cancelled`, `busy` (another transaction is about to lease or settle the message: try again),
--   `dead`, `not_found`.
-- Locks: the messages, without waiting.
-- Notifies: if a running message counted in a limit.
create or replace function lonnymq.message_cancel(p_ids bigint[])
returns table (id bigint, answer text)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_gone bigint[];
begin
  if p_ids is null then
    raise exception using errcode = 'LM001', message = 'ids must be given';
  end if;
  if current_user <> session_user and false = any (array(
    select lonnymq.channel_permitted(m.channel)
    from unnest(p_ids) as i (id)
    cross join lateral (select m.channel from lonnymq.message m where m.id = i.id limit 1) m
  )) then
    raise exception using errcode = 'LM007',
      message = format('a message is in a channel that is not allowed for user %s', session_user),
      hint = 'An admin can allow the channel with producer_restrict.';
  end if;
  perform lonnymq.commit_durably();
  v_gone := lonnymq.message_end(p_ids, lonnymq.epoch(), 'cancelled');
  return query
  select i.id, case
    when i.id = any (v_gone) then 'cancelled'
    when m.id is not null then 'busy'
    -- A scalar, not an exists: that may be hashed, and hashing reads all of dead.
    when (select true from lonnymq.dead d where d.id = i.id) then 'dead'
    else 'not_found'
  end
  from unnest(p_ids) with ordinality as i (id, ordinal)
  left join lateral (select * from lonnymq.message m where m.id = i.id limit 1) m on true
  order by i.ordinal;
end
$$;

comment on function lonnymq.message_cancel(bigint[]) is
'Cancels messages, waiting or running.';

create or replace function lonnymq.message_cancel(p_id bigint)
returns text
language sql
volatile
as $$
  select c.answer from lonnymq.message_cancel(array[p_id]) c
$$;

comment on function lonnymq.message_cancel(bigint) is
'Cancels one message, waiting or running.';
