-- Defers and fails the messages of a claim that claim_decide named. The caller completes the rest.
-- Answers: a row with the number of each outcome, and the rest.
create or replace function lonnymq.claim_settle(
  p_ids bigint[], p_low uuid, p_high uuid,
  out deferred bigint, out retrying bigint, out dead bigint, out lost bigint, out rest bigint[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_ids bigint[];
  v_tokens uuid[];
  v_delays bigint[];
  v_states bytea[];
  v_errors text[];
  v_deads boolean[];
  v_others bigint[];
begin
  select array_agg(o.message_id), array_agg(o.token), array_agg(o.delay_ms), array_agg(o.state)
  into v_ids, v_tokens, v_delays, v_states
  from lonnymq.claim_outcome o
  where o.token between p_low and p_high and o.outcome = 'defer' and o.message_id = any (p_ids);
  v_others := coalesce(v_ids, '{}');
  select count(*) filter (where d.answer = 'deferred'), count(*) filter (where d.answer <> 'deferred')
  into deferred, lost
  from lonnymq.message_defer(coalesce(v_ids, '{}'), coalesce(v_tokens, '{}'), v_delays, v_states) d;

  select array_agg(o.message_id), array_agg(o.token), array_agg(o.delay_ms), array_agg(o.error),
    array_agg(o.outcome = 'dead')
  into v_ids, v_tokens, v_delays, v_errors, v_deads
  from lonnymq.claim_outcome o
  where o.token between p_low and p_high and o.outcome in ('fail', 'dead')
    and o.message_id = any (p_ids);
  v_others := v_others || coalesce(v_ids, '{}');
  select count(*) filter (where f.answer = 'retrying'), count(*) filter (where f.answer = 'dead'),
    lost + count(*) filter (where f.answer not in ('retrying', 'dead'))
  into retrying, dead, lost
  from lonnymq.message_fail(coalesce(v_ids, '{}'), coalesce(v_tokens, '{}'), v_errors, v_delays, v_deads) f;

  select coalesce(array_agg(i.id order by i.id), '{}') into rest
  from unnest(p_ids) as i (id)
  where i.id not in (select o.id from unnest(v_others) as o (id));
end
$$;

comment on function lonnymq.claim_settle(bigint[], uuid, uuid) is
'Defers and fails the messages of a claim that claim_decide named.';
