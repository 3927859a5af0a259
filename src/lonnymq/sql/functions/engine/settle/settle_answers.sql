-- What to answer for each pair of id and token, given the pairs that were found and done: the word for
-- those, lease_lost where the message is there under another token or none, not_found for the rest.
-- A pair given twice is done once. The place is that of the pair among those done.
--
-- Pairs and tokens are joined by hash: a loop over both took seconds for 10,000.
create or replace function lonnymq.settle_answers(
  p_ids bigint[], p_tokens uuid[], p_done_ids bigint[], p_done_tokens uuid[], p_word text
)
returns table (id bigint, token uuid, answer text, place bigint)
language sql
stable
set enable_hashjoin = on
set enable_nestloop = off
as $$
  select i.id, i.token, case
    when d.place is not null and i.turn = 1 then p_word
    when (select true from lonnymq.message m where m.id = i.id) then 'lease_lost'
    else 'not_found'
  end, d.place
  from (
    select u.*, row_number() over (partition by u.id, u.token order by u.ordinal) as turn
    from unnest(p_ids, p_tokens) with ordinality as u (id, token, ordinal)
  ) i
  left join unnest(p_done_ids, p_done_tokens) with ordinality as d (id, token, place)
    on d.id = i.id and d.token = i.token
  order by i.ordinal
$$;

comment on function lonnymq.settle_answers(bigint[], uuid[], bigint[], uuid[], text) is
'The answer for each id and token, from the leases that were found.';
