-- Gives back a claim: the messages return to their old position, no attempt is used, and the claim is
-- deleted. The caller owns the stream.
create or replace function lonnymq.claim_undo(p_stream text, p_seq bigint)
returns void
language plpgsql
as $$
declare
  v_claim lonnymq.claim;
  v_part record;
begin
  select * into v_claim from lonnymq.claim c where c.stream = p_stream and c.seq = p_seq;
  for v_part in
    select p.message_ids, r.low, r.high
    from lonnymq.claim_part p
    cross join lateral lonnymq.claim_range(coalesce(p.token, v_claim.token)) r
    where p.stream = p_stream and p.seq = p_seq order by p.part
  loop
    perform lonnymq.message_defer(array_agg(m.id), array_agg(m.token),
      p_dequeue_ats => array_agg(m.dequeue_at))
    from (
      select m.id, m.token, m.dequeue_at from lonnymq.message m
      where m.id = any (v_part.message_ids) and m.token between v_part.low and v_part.high
      order by m.id
    ) m
    having count(*) > 0;
  end loop;
  perform lonnymq.claim_forget(p_stream, p_seq);
end
$$;

comment on function lonnymq.claim_undo(text, bigint) is
'Gives back a claim, as if its messages had never been leased.';
