-- Reads the messages of a part of a claim, from number `p_first` to number `p_last`. Every call returns
-- the same messages until the claim is settled or the leases run out. PostgreSQL inlines this function
-- into your query and sends the rows without delay.
create or replace function lonnymq.claim_read(
  p_stream text, p_seq bigint, p_token text, p_part integer, p_first integer, p_last integer
)
returns setof lonnymq.message
language sql
stable
as $$
  select m.* from lonnymq.message m
  where m.id = any ((
      select p.message_ids[p_first : p_last] from lonnymq.claim_part p
      where p.stream = p_stream and p.seq = p_seq and p.part = p_part
    )::bigint[])
    and m.token between (
      select (coalesce(p.token, c.token) || '0000000000000000')::uuid
      from lonnymq.claim_part p
      join lonnymq.claim c on c.stream = p.stream and c.seq = p.seq and c.token = p_token
      where p.stream = p_stream and p.seq = p_seq and p.part = p_part
    ) and (
      select (coalesce(p.token, p_token) || 'ffffffffffffffff')::uuid
      from lonnymq.claim_part p
      where p.stream = p_stream and p.seq = p_seq and p.part = p_part
    )
$$;

comment on function lonnymq.claim_read(text, bigint, text, integer, integer, integer) is
'Reads the messages of a part of a claim, or a range of these messages.';
