-- Sets the outcome of claimed messages: `complete` (the default), `defer`, `fail` or `dead`. The outcome
-- takes effect when the claim is acknowledged. The last decision for a message counts.
--
-- Answers: `decided`, `lease_lost` (the token does not match the present lease), `not_found`.
-- Locks: the decisions of this call.
-- Notifies: no.
create or replace function lonnymq.claim_decide(
  p_ids bigint[],
  p_tokens uuid[],
  p_outcomes text[],
  p_delays_ms bigint[] default null,
  p_errors text[] default null,
  p_states bytea[] default null
)
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
  v_length integer := cardinality(p_ids);
  v_bad record;
  v_ids bigint[];
  v_done uuid[];
begin
  perform lonnymq.guard_pairs(p_ids, p_tokens);
  perform lonnymq.guard_aligned('outcomes', p_outcomes, v_length);
  perform lonnymq.guard_aligned('delays_ms', p_delays_ms, v_length);
  perform lonnymq.guard_aligned('errors', p_errors, v_length);
  perform lonnymq.guard_aligned('states', p_states, v_length);
  select i.outcome, i.delay_ms, octet_length(i.state) as length into v_bad
  from unnest(p_outcomes, p_delays_ms, p_states) as i (outcome, delay_ms, state)
  where i.outcome is null or i.outcome not in ('complete', 'defer', 'fail', 'dead')
    or i.delay_ms not between 0 and 3155760000000 or octet_length(i.state) > 1048576
  limit 1;
  if found then
    perform lonnymq.guard_range('delay_ms', coalesce(v_bad.delay_ms, 0), 0, 3155760000000);
    perform lonnymq.guard_range('bytes of a state', coalesce(v_bad.length, 0), 0, 1048576);
    raise exception using errcode = 'LM001',
      message = format('outcome must be complete, defer, fail or dead, not %s',
        coalesce(v_bad.outcome, 'null'));
  end if;

  with notified as (
    insert into lonnymq.claim_outcome as o (token, message_id, delay_ms, outcome, error, state)
    select distinct on (i.token) i.token, i.id, i.delay_ms, i.outcome, left(i.error, 10000), i.state
    from unnest(p_ids, p_tokens, p_outcomes, p_delays_ms, p_errors, p_states)
      with ordinality as i (id, token, outcome, delay_ms, error, state, place)
    cross join lateral (
      select from lonnymq.message m where m.id = i.id and m.token = i.token limit 1
    ) m
    order by i.token, i.place desc
    on conflict (token) do update
    set delay_ms = excluded.delay_ms, outcome = excluded.outcome, error = excluded.error,
      state = excluded.state
    returning o.message_id, o.token
  )
  select array_agg(t.message_id), array_agg(t.token) into v_ids, v_done from notified t;
  return query
  select a.id, a.answer from lonnymq.settle_answers(p_ids, p_tokens, v_ids, v_done, 'decided') a;
end
$$;

comment on function lonnymq.claim_decide(bigint[], uuid[], text[], bigint[], text[], bytea[]) is
'Sets the outcome of claimed messages for the acknowledgement of their claim.';
