-- What to answer for each id when not all leases were found: the word for those done, lease_lost for
-- those that are there under another token or none, not_found for the rest. An id given twice is
-- done once.
create or replace function lonnymq.settle_answers(
  p_ids bigint[], p_done bigint[], p_word text
)
returns table (id bigint, answer text)
language sql
stable
as $$
  select i.id, case
    when i.id = any (p_done) and i.turn = 1 then p_word
    when exists (select from lonnymq.message m where m.id = i.id) then 'lease_lost'
    else 'not_found'
  end
  from (
    select u.id, u.ordinal, row_number() over (partition by u.id order by u.ordinal) as turn
    from unnest(p_ids) with ordinality as u (id, ordinal)
  ) i
  order by i.ordinal
$$;

comment on function lonnymq.settle_answers(bigint[], bigint[], text) is
'What to answer for each id when not all leases were found.';
