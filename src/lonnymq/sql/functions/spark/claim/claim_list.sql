-- Lists the parts of a stream's claims that are not settled yet, in order.
create or replace function lonnymq.claim_list(p_stream text)
returns table (
  seq bigint, token text, made_at bigint, timeout_at bigint, part integer, messages integer
)
language sql
stable
as $$
  select c.seq, c.token, c.made_at, c.timeout_at, p.part, cardinality(p.message_ids)
  from lonnymq.claim c
  join lonnymq.claim_part p on p.stream = c.stream and p.seq = c.seq
  where c.stream = p_stream
  order by c.seq, p.part
$$;

comment on function lonnymq.claim_list(text) is
'Lists the parts of a stream''s claims that are not settled yet.';
